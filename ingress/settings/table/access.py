"""Options about who may use a path: users with passwords, blocked clients, and how several protections combine.

Source: ingress-nginx v1.15.1, annotations auth-type, auth-secret and satisfy, and the ConfigMap. A value that cannot be
read closes what it would protect. It must not know Secrets or requests.
"""

from __future__ import annotations

import re

import msgspec

from balancer.matching.gates.blocked_clients import entry_problem
from balancer.model.gates import BlockedClients, GateRule
from balancer.model.routes import PathParameters
from ingress.findings import Severity
from ingress.objects.names import LABEL, SUBDOMAIN
from ingress.settings.table.option import cluster_option, cluster_switch, ingress_option
from ingress.settings.table.source_ranges import networks
from ingress.settings.unsupported import Loss, closing
from ingress.settings.values import InvalidValue, Word, path_prefixes

# Each request is compared with every expression of a list.
_BLOCKED_MOST = 500
# ingress-nginx refuses other characters, some of which would end the quoted text in the challenge.
_REALM = re.compile(r"[-._~a-zA-Z0-9/: ]{0,256}")

_NOBODY_ASKED = closing(Severity.UNPROTECTED, "nobody is asked who they are")
_LET_IN = closing(Severity.UNPROTECTED, "clients that should be refused are let in")


ASKED_ANYWAY = "Clients are asked to sign in. ingress-nginx would ask nobody."
"""The effect of options that seem to ask for a sign-in and would not in ingress-nginx."""


class BasicAuthOptions(msgspec.Struct, frozen=True):
    """What an Ingress says about users and passwords. `secret` is `name` or `namespace/name`.

    `is_map`: the keys of the Secret are users; otherwise its key `auth` holds lines of users.
    """

    is_asked: bool = False
    secret: str = ""
    is_map: bool = False
    realm: str = ""


class AccessOptions(msgspec.Struct, frozen=True):
    """How the protections of an Ingress combine. `any_is_enough`: one of them lets a request in."""

    any_is_enough: bool = False


class AccessSettings(msgspec.Struct, frozen=True):
    """What the ConfigMap says about access.

    Paths of Ingresses that begin with one of `open_paths` need no sign-in. `other_namespaces`: an Ingress may
    name Secrets and ConfigMaps of another namespace. `path_parameters` says how paths with a `;` match.
    """

    blocked_networks: tuple[str, ...] = ()
    blocked_agents: tuple[str, ...] = ()
    blocked_referers: tuple[str, ...] = ()
    open_paths: tuple[str, ...] = ("/.well-known/acme-challenge",)
    other_namespaces: bool = False
    path_parameters: PathParameters = PathParameters.REFUSE

    def gates(self) -> tuple[GateRule, ...]:
        """The gates that judge User-Agent and Referer."""
        if not self.blocked_agents and not self.blocked_referers:
            return ()
        return (BlockedClients(self.blocked_agents, self.blocked_referers),)


def auth_type(text: str) -> bool:
    """Whether users sign in with a password: true for `basic`, false for blank text."""
    if text.strip() == "digest":
        raise InvalidValue("zonal supports basic only, because digest needs stored MD5 hashes")
    if text.strip() not in {"", "basic"}:
        raise InvalidValue("use basic")
    return bool(text.strip())


def secret_reference(text: str) -> str:
    """`name` or `namespace/name` of a Secret; blank text is none."""
    namespace, slash, name = text.strip().rpartition("/")
    if text.strip() and not (SUBDOMAIN.fullmatch(name) and (not slash or LABEL.fullmatch(namespace))):
        raise InvalidValue("use the name of a Secret, or namespace/name")
    return text.strip()


def _secret_type(text: str) -> bool:
    if text.strip() not in {"", "auth-file", "auth-map"}:
        raise InvalidValue("use auth-file or auth-map")
    return text.strip() == "auth-map"


def _realm(text: str) -> str:
    if not _REALM.fullmatch(text.strip()):
        raise InvalidValue("use letters, digits, spaces and -._~/:")
    return text.strip()


def _satisfy(text: str) -> bool:
    if text.strip() not in {"", "any", "all"}:
        raise InvalidValue("use any or all")
    return text.strip() == "any"


def blocked(text: str) -> tuple[str, ...]:
    """A comma list of texts, and of expressions behind `~` or `~*` (nginx `map`), sorted; blank text is none."""
    entries = {_unquoted(entry.strip()) for entry in text.split(",") if entry.strip()}
    if len(entries) > _BLOCKED_MOST:
        raise InvalidValue(f"use at most {_BLOCKED_MOST} texts and expressions")
    for entry in sorted(entries):
        if problem := entry_problem(entry):
            raise InvalidValue(f"an expression does not compile: {problem}")
    return tuple(sorted(entries))


def _unquoted(entry: str) -> str:
    """The entry without the quotes that nginx needs around spaces."""
    return entry[1:-1] if len(entry) > 1 and entry[0] == entry[-1] and entry[0] in "\"'" else entry


ACCESS_OPTIONS = (
    ingress_option(
        name="auth-type",
        fills=(BasicAuthOptions, "is_asked"),
        grammar=auth_type,
        doc="`basic`: clients sign in with a user and a password of `auth-secret`, else they get 401. Endpoints never"
        " get the field `Authorization`. `digest` closes the paths of the Ingress",
        if_invalid=_NOBODY_ASKED,
    ),
    ingress_option(
        name="auth-secret",
        fills=(BasicAuthOptions, "secret"),
        grammar=secret_reference,
        doc="the Secret with the users, whose changes are followed. Stored passwords may be apr1, bcrypt (cost up to"
        " 14), SHA,"
        " SSHA, MD5-, SHA-256-, SHA-512- (up to 200000 rounds) and DES-crypt. Without the Secret every path answers"
        " 503. The annotation holds without `auth-type` as well, unlike in ingress-nginx",
        if_invalid=_NOBODY_ASKED,
    ),
    ingress_option(
        name="auth-secret-type",
        fills=(BasicAuthOptions, "is_map"),
        grammar=_secret_type,
        default="auth-file",
        doc="`auth-file`: the key `auth` of the Secret holds lines of htpasswd; `auth-map`: each key is a user",
        if_invalid=_NOBODY_ASKED,
    ),
    ingress_option(
        name="auth-realm",
        fills=(BasicAuthOptions, "realm"),
        grammar=_realm,
        doc="the realm that browsers show; `off` is a realm like any other and switches nothing off, unlike in"
        " ingress-nginx",
        if_invalid=_NOBODY_ASKED,
    ),
    ingress_option(
        name="satisfy",
        fills=(AccessOptions, "any_is_enough"),
        grammar=_satisfy,
        default="all",
        doc="`any`: it is enough that the client's address is allowed or that the client signs in",
        if_invalid=Loss(Severity.DEGRADED, "every protection is needed"),
    ),
    cluster_option(
        name="no-auth-locations",
        fills=(AccessSettings, "open_paths"),
        grammar=path_prefixes,
        default="/.well-known/acme-challenge",
        doc="comma list of beginnings of paths; such paths of Ingresses need no sign-in, and no auth service is asked",
    ),
    cluster_option(
        name="block-cidrs",
        fills=(AccessSettings, "blocked_networks"),
        grammar=networks,
        doc="comma list of IPv4 and IPv6 addresses and networks; clients inside it get 403, except on paths with source"
        " ranges of their own. A list that cannot be read closes every path",
        if_invalid=_LET_IN,
    ),
    cluster_option(
        name="block-user-agents",
        fills=(AccessSettings, "blocked_agents"),
        grammar=blocked,
        doc="comma list of at most 500 values of User-Agent that get 403: texts, in any case, expressions (RE2) behind"
        " `~`, and expressions that ignore case behind `~*`. A list that cannot be read closes every path",
        if_invalid=_LET_IN,
    ),
    cluster_option(
        name="block-referers",
        fills=(AccessSettings, "blocked_referers"),
        grammar=blocked,
        doc="the same for Referer",
        if_invalid=_LET_IN,
    ),
    cluster_switch(
        name="allow-cross-namespace-resources",
        fills=(AccessSettings, "other_namespaces"),
        doc='`"true"`: `auth-secret`, `auth-tls-secret`, `proxy-ssl-secret`, `custom-headers` and'
        " `auth-proxy-set-headers` may name objects of other namespaces; otherwise such an Ingress answers 503",
    ),
    cluster_option(
        name="path-parameters",
        fills=(AccessSettings, "path_parameters"),
        grammar=Word({each.value: each for each in PathParameters}),
        default="refuse",
        doc="what a `;` in a path means, where servlet containers read parameters. `refuse`: 400 where the path without"
        " its parameters has a gate that the path as it stands has not; elsewhere the `;` is a part of its segment."
        " `strip-for-matching`: paths match without their parameters, and endpoints get them. `pass`: the `;` is a part"
        " of its segment everywhere, **so `/admin;a=b` may pass the gates of `/admin`**"
        " ([ADR 24](adr/0024-path-parameters.md))",
    ),
)
