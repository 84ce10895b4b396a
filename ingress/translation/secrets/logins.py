"""Reads the users of a path, and the stored forms of their passwords, from the Secret that an Ingress names.

An Ingress that asks for passwords and whose Secret cannot be read is closed. No finding shows anything of a Secret.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from balancer.matching.stored_hashes import scheme_of
from balancer.model.gates import BasicAuth
from balancer.model.logins import Logins
from ingress.findings import Report, Severity, quote
from ingress.objects.kinds import Secret
from ingress.settings.table.access import ASKED_ANYWAY, BasicAuthOptions
from ingress.sources.inventory import Inventory
from ingress.translation.denying import deny
from ingress.translation.references import References

_FILE_KEY = "auth"
_SECRET = "auth-secret"


class SignInRule(NamedTuple):
    """The gate of a path, and the users that it names."""

    gate: BasicAuth
    logins: Logins


def read_sign_in(
    options: BasicAuthOptions, *, references: References, inventory: Inventory, report: Report
) -> SignInRule | None:
    """Who may sign in to an Ingress with these `references`; None if no sign-in is needed. Raises `Denied`.

    A Secret without `auth-type` counts, and so does a realm of `off`.
    """
    if not options.is_asked and not options.secret:
        return None
    if not options.secret:
        deny(report, "auth-type needs auth-secret, which names the users: add it.", reason="SignInDenied")
    if problem := references.problem(_SECRET, options.secret):
        deny(report, problem, reason="SignInDenied")
    secret = inventory.secret(*references.key(options.secret))
    if secret is None:
        problem = f"auth-secret {quote(options.secret)} does not exist: create it."
        deny(report, references.told(_SECRET, options.secret, problem), reason="SignInDenied")
    hashes = _hashes(secret, options)
    if hashes is None:
        problem = f'auth-secret {quote(options.secret)} has no key "auth" in base64: add it.'
        deny(report, references.told(_SECRET, options.secret, problem), reason="SignInDenied")
    _note_surprises(options, report)
    _note_unusable(hashes, options.secret, references, report)
    key = f"{'/'.join(references.key(options.secret))}:{'auth-map' if options.is_map else 'auth-file'}"
    return SignInRule(BasicAuth(key, options.realm), Logins(key, hashes))


def _hashes(secret: Secret, options: BasicAuthOptions) -> tuple[tuple[str, str], ...] | None:
    """The users with what is stored of them; None if the Secret has no file of them."""
    if options.is_map:
        keys = sorted({*secret.data, *secret.string_data})
        return tuple((key, _first_line(secret.value(key) or b"")) for key in keys)
    content = secret.value(_FILE_KEY)
    return None if content is None else tuple(_entries(_lines(content)))


def _entries(lines: Iterable[str]) -> Iterator[tuple[str, str]]:
    """The users of an htpasswd file with what is stored of them: `user:stored` or with a comment."""
    for line in lines:
        user, colon, rest = line.partition(":")
        if colon and user and not line.startswith("#"):
            yield user, rest.partition(":")[0]


def _first_line(value: bytes) -> str:
    return _lines(value)[0].partition(":")[0]


def _lines(content: bytes) -> list[str]:
    """Lines end at CR and LF only: bytes that are line ends in Unicode may be a part of a name."""
    return content.replace(b"\r", b"\n").decode("latin-1").split("\n")


def _note_surprises(options: BasicAuthOptions, report: Report) -> None:
    if not options.is_asked:
        report.add(
            reason="SignInWithoutType",
            message='There is auth-secret without auth-type: add auth-type: "basic", or remove both.',
            severity=Severity.COSMETIC,
            effect=ASKED_ANYWAY,
        )
    if options.realm == "off":
        report.add(
            reason="SignInRealmOff",
            message='auth-realm is "off", which switches nothing off: remove auth-type to ask nobody.',
            severity=Severity.COSMETIC,
            effect=ASKED_ANYWAY,
        )


def _note_unusable(hashes: tuple[tuple[str, str], ...], reference: str, references: References, report: Report) -> None:
    unusable = sum(scheme_of(stored) is None for _, stored in hashes)
    if not unusable and hashes:
        return
    count = f"{unusable} of {len(hashes)} users" if hashes else "no users"
    what = " whose stored passwords zonal cannot check, or not in a second" if hashes else ""
    message = f"auth-secret {quote(reference)} holds {count}{what}: store bcrypt or apr1."
    report.add(
        reason="SignInUnusable",
        message=references.told(_SECRET, reference, message),
        severity=Severity.DEGRADED,
        effect="Users get 401." if not references.is_own(reference) else _effect(hashes),
    )


def _effect(hashes: tuple[tuple[str, str], ...]) -> str:
    return "These users get 401." if hashes else "Everybody gets 401."
