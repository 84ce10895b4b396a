"""Options about which annotations the operator lets tenants use.

Responsible for ingress-nginx's `annotation-value-word-blocklist` and `annotations-risk-level`, and for the risk of each
annotation. It must not know what an annotation does, nor what becomes of an Ingress that may not have it.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum

import msgspec

from ingress.findings import Severity
from ingress.settings.table.option import cluster_option, cluster_switch
from ingress.settings.unsupported import closing
from ingress.settings.values import InvalidValue

_WORDS_MOST = 1000


class Risk(IntEnum):
    """What a tenant may do to others with an annotation (ingress-nginx: internal/ingress/annotations/parser)."""

    LOW = 0
    MEDIUM = 1
    HIGH = 2
    CRITICAL = 3


class AnnotationPolicy(msgspec.Struct, frozen=True):
    """An Ingress may have annotations up to `most_risk`, whose values contain none of `words`.

    `permits_snippets`: snippets are among them, if their risk is.
    """

    words: tuple[str, ...] = ()
    most_risk: Risk = Risk.HIGH
    permits_snippets: bool = False

    @property
    def allows_snippets(self) -> bool:
        """Whether an Ingress may have snippets."""
        return self.permits_snippets and self.most_risk >= Risk.CRITICAL

    @property
    def forbids_nothing(self) -> bool:
        """Whether no supported annotation is forbidden. (Of snippets, which are critical, their reader says it.)"""
        return not self.words and self.most_risk >= Risk.HIGH


def _risks(risk: Risk, names: str) -> dict[str, Risk]:
    return dict.fromkeys(names.split(), risk)


ANNOTATION_RISKS: Mapping[str, Risk] = {
    **_risks(
        Risk.MEDIUM,
        """affinity-mode allowlist-source-range app-root auth-cache-duration auth-cache-key auth-proxy-set-headers
        auth-realm auth-request-redirect auth-response-headers auth-secret auth-signin-redirect-param auth-tls-secret
        auth-tls-verify-client canary-by-cookie canary-by-header canary-by-header-pattern canary-by-header-value
        cors-allow-headers cors-allow-methods cors-allow-origin cors-expose-headers custom-headers
        denylist-source-range fastcgi-index fastcgi-params-configmap force-ssl-redirect opentelemetry-operation-name
        permanent-redirect preserve-trailing-slash proxy-body-size proxy-cookie-domain proxy-cookie-path
        proxy-next-upstream proxy-redirect-from proxy-redirect-to proxy-ssl-ciphers proxy-ssl-secret rewrite-target
        session-cookie-domain session-cookie-expires session-cookie-max-age session-cookie-name session-cookie-path
        temporal-redirect whitelist-source-range x-forwarded-prefix""",
    ),
    **_risks(
        Risk.HIGH,
        """auth-signin auth-tls-error-page auth-tls-match-cn auth-url mirror-host mirror-target
        modsecurity-transaction-id proxy-ssl-name server-alias upstream-hash-by""",
    ),
    **_risks(Risk.CRITICAL, "auth-snippet configuration-snippet modsecurity-snippet server-snippet stream-snippet"),
}
"""The risk of every annotation of ingress-nginx, without prefix, that has more than the least."""


def words(text: str) -> tuple[str, ...]:
    """A comma list of texts, sorted, each once; white space around them does not count."""
    found = {word.strip() for word in text.split(",")} - {""}
    if len(found) > _WORDS_MOST:
        raise InvalidValue(f"use at most {_WORDS_MOST} words")
    return tuple(sorted(found))


def risk(text: str) -> Risk:
    """`Low`, `Medium`, `High` or `Critical`, in any case."""
    try:
        return Risk[text.strip().upper()]
    except KeyError:
        raise InvalidValue("use Low, Medium, High or Critical") from None


ANNOTATION_POLICY_OPTIONS = (
    cluster_option(
        name="annotation-value-word-blocklist",
        fills=(AnnotationPolicy, "words"),
        grammar=words,
        doc="comma list: an Ingress is closed (503) if the value of one of its annotations contains one of these texts",
        if_invalid=closing(Severity.UNPROTECTED, "annotations may contain the words"),
    ),
    cluster_option(
        name="annotations-risk-level",
        fills=(AnnotationPolicy, "most_risk"),
        grammar=risk,
        default="High",
        doc="`Low`, `Medium`, `High` or `Critical`: an Ingress is closed (503) if it has an annotation of ingress-nginx"
        " with a higher risk. Snippets are critical",
        if_invalid=closing(Severity.UNPROTECTED, "annotations of every risk that zonal carries out are allowed"),
    ),
    cluster_switch(
        name="allow-snippet-annotations",
        fills=(AnnotationPolicy, "permits_snippets"),
        doc='`"true"`: Ingresses may have snippets, together with `annotations-risk-level: Critical`. Whoever writes'
        " one says what clients and endpoints of a host get; zonal runs no text of theirs",
    ),
)
