"""Which certificates a listener can show, and what clients have to show it.

A reference that cannot be followed is one problem of the listener, and the good ones are still used. Without any usable
certificate handshakes are closed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import msgspec

from ingress.objects.gateway_references import SecretReference
from ingress.translation.gateway.grants import Grants, Referrer
from ingress.translation.gateway.listeners import ReadListener
from ingress.translation.gateway.references import followed
from ingress.translation.gateway.standings import Problem

FindProblem = Callable[[str], str]
"""Why the Secret `namespace/name` holds no certificate that can be served, as the end of a sentence; empty if it does.
"""


def named_secrets(listener: ReadListener, grants: Grants) -> Iterator[tuple[str, str]]:
    """The Secrets that a listener may use, by namespace and name, whether they exist or not."""
    for each in _references(listener):
        if (key := _followed(each, listener, grants)) and not isinstance(key, Problem):
            yield key


def with_certificates(listener: ReadListener, grants: Grants, find_problem: FindProblem) -> ReadListener:
    """The listener with the certificates that can be used, and with the problem of the first that cannot."""
    if not listener.ends_tls:
        return listener
    usable: list[str] = []
    problems: list[Problem] = []
    for each in _references(listener):
        key = _followed(each, listener, grants)
        if isinstance(key, Problem):
            problems.append(key)
        elif said := find_problem("/".join(key)):
            problems.append(Problem("InvalidCertificateRef", f"Secret {'/'.join(key)} {said}"))
        else:
            usable.append("/".join(key))
    if not usable and not problems:
        problems.append(Problem("InvalidCertificateRef", "certificateRefs names no Secret: add one."))
    return msgspec.structs.replace(
        listener,
        certificates=tuple(dict.fromkeys(usable)),
        unresolved=problems[0] if problems else listener.unresolved,
        serves=listener.serves and bool(usable),
    )


def _references(listener: ReadListener) -> tuple[SecretReference, ...]:
    tls = listener.spec.tls
    return tls.certificate_refs if tls is not None and listener.ends_tls else ()


def _followed(reference: SecretReference, listener: ReadListener, grants: Grants) -> tuple[str, str] | Problem:
    return followed(
        reference,
        Referrer(listener.owner.kind, listener.owner.namespace),
        grants,
        field="certificateRefs",
        kind="Secret",
        odd_kind="InvalidCertificateRef",
    )
