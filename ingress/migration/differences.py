"""Where zonal carries out a name of ingress-nginx, and on purpose not in the same way.

One table for `zonal check` and docs/migrate.md. Does not know how a check finds out which values are set.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from ingress.settings.unsupported import words


class Difference(msgspec.Struct, frozen=True):
    """How a name differs, as a clause. Values are in lower case.

    `but_for` are values for which the name does not differ, and `only` those for which it does, if there are any.
    """

    how: str
    but_for: frozenset[str] = frozenset()
    only: frozenset[str] = frozenset()

    def holds_for(self, value: str) -> bool:
        """Whether the name differs where it has this value."""
        text = value.strip().lower()
        return text not in self.but_for and (not self.only or text in self.only)


_CLIENTS = Difference("IPv6 clients count by their network of 64 bits", words("0"))

ANNOTATION_DIFFERENCES: Mapping[str, Difference] = {
    "affinity": Difference("cookies of ingress-nginx are not known, so each client is placed anew once"),
    "auth-realm": Difference("off is a realm like any other, and clients must still sign in", only=words("off")),
    "auth-tls-match-cn": Difference("the expression must match from the beginning of an attribute of the subject"),
    "auth-tls-secret": Difference("requests over plain HTTP are refused with 400, unless a redirect answers them"),
    "limit-rps": _CLIENTS,
    "limit-rpm": _CLIENTS,
    "limit-connections": _CLIENTS,
    "ssl-passthrough": Difference(
        "wildcards and aliases of the host pass, too, and an annotation that protects requests resets the connections",
        words("0 f false") | {""},
    ),
    "upstream-hash-by": Difference("the hash is another one, so each value is placed anew once"),
}
"""Annotations, without the prefix, that zonal carries out differently."""

KEY_DIFFERENCES: Mapping[str, Difference] = {
    "allow-backend-server-header": Difference("the Server field of endpoints passes without server-tokens, too"),
    "enable-access-log-for-default-backend": Difference(
        "requests that no Ingress serves have lines unless the key is false", but_for=words("true false")
    ),
    "use-forwarded-headers": Difference(
        "X-Forwarded-Proto, -Port and -Host count only from proxy-real-ip-cidr", words("0 f false")
    ),
}
"""Keys of the ConfigMap that zonal carries out differently."""

HIDDEN_VALUES = words("canary-by-header-value canary-by-header-pattern")
"""Annotations whose value may be what keeps a canary from the public, so that no check prints it."""
