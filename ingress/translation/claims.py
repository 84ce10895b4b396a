"""Defines claims: what objects of any input language ask to be served.

Every language is translated into these values: `Claims` of each object, and a `HostClaim` for each host. Assembly reads
nothing else. Does not know any language.
"""

from __future__ import annotations

import math
from datetime import UTC, datetime

import msgspec

from balancer.model.client_tls import ClientCertificates
from balancer.model.conditions import ANY, Conditions
from balancer.model.edits import RequestEdit, ResponseRule
from balancer.model.endpoints import EndpointTls
from balancer.model.external_auth import BackendAuth
from balancer.model.gates import GateRule
from balancer.model.logins import Logins
from balancer.model.mirroring import Mirroring
from balancer.model.policies import RoutePolicy
from balancer.model.redirects import (
    AppRoot,
    HttpsRedirect,
    NameRedirect,
    RouteRedirect,
    SlashRedirect,
    TargetRedirect,
)
from balancer.model.rewriting import PathReplacement, Rewriting
from balancer.model.routes import INGRESS, Branch, Owner, PathKind, TrailingSlash
from balancer.model.scripts import AnswerWith, HostScript, Script
from ingress.findings import Subject, quote
from ingress.objects.kinds import Metadata, ServicePortReference
from ingress.settings.table.option import Overrides


class StandInClaim(msgspec.Struct, frozen=True, gc=False):
    """What shall stand in for the Service of a claim.

    `service` is the name of a Service in the namespace of the owner, empty for none. `statuses` are those of responses
    that an error page replaces; `statuses_are_own`: the pages come from `service`, if there is one. `intercepts`: also
    responses of endpoints are replaced.
    """

    service: str = ""
    statuses: tuple[int, ...] = ()
    statuses_are_own: bool = False
    intercepts: bool = True


# An app-root is a gate only of a path that nothing but `/` matches.
_REDIRECT_EVERYTHING = (AppRoot, NameRedirect, RouteRedirect, SlashRedirect, TargetRedirect)


class BranchClaim(msgspec.Struct, frozen=True, gc=False):
    """A Service that shall answer requests of a claim.

    `branch` is as it will be in the model, without what the Service resolves to: its backend and its zone policy.
    `port` is that of `branch.service`; None: no Service may be used, so requests of the branch get its error.
    `tls` and `http2` are how the endpoints are spoken to, as in `Backend`; `http2` None: as the Service says.
    `mirrors` and `auths` are who gets copies of the requests of the branch alone, and who judges them.
    `overrides` is what the owner of the branch says about the backend: `ZoneSettings` for its own requests, and
    `BackendSettings` for all requests. `defaults` are `ZoneSettings` that count where the Service says nothing.
    """

    branch: Branch
    port: ServicePortReference | None
    tls: EndpointTls | None = None
    http2: bool | None = None
    overrides: Overrides = Overrides()
    defaults: Overrides = Overrides()
    mirrors: tuple[MirrorClaim, ...] = ()
    auths: tuple[AuthClaim, ...] = ()


class MirrorClaim(msgspec.Struct, frozen=True, gc=False):
    """A Service that gets copies of requests, of `numerator` in `denominator` of them. `branch` says which and how."""

    branch: BranchClaim
    numerator: int = 100
    denominator: int = 100


class AuthClaim(msgspec.Struct, frozen=True, gc=False):
    """A Service that judges requests, and what it is asked. `branch` says which Service and how it is spoken to."""

    branch: BranchClaim
    rule: BackendAuth


class Claim(msgspec.Struct, frozen=True, gc=False):
    """One path of a host, the Services that shall answer it, and how.

    `branches` are those of the route, in its order. `is_default`: the claim is to the requests that no path of the host
    matches; `path` is `/` then. `redirects_to_https`: the route redirects plain HTTP. `redirects_beside_tls`: the route
    does so if the host has TLS. `https_redirect` is how. `closed`: every request answers 503 on purpose.
    `expression`, `long_expression`, `rewriting`, `conditions` and `request_edits` are as in `Route`.
    `mirroring` and `mirrors` say who gets copies; whether at a local address is the operator's to say.
    """

    owner: Owner
    host: str
    path: str
    kind: PathKind
    branches: tuple[BranchClaim, ...]
    is_default: bool = False
    policy: RoutePolicy = RoutePolicy()
    redirects_to_https: bool = False
    redirects_beside_tls: bool = False
    https_redirect: HttpsRedirect = HttpsRedirect()
    gates: tuple[GateRule, ...] = ()
    response_rules: tuple[ResponseRule, ...] = ()
    stand_in: StandInClaim = StandInClaim()
    closed: bool = False
    expression: str = ""
    long_expression: str = ""
    rewriting: Rewriting | PathReplacement | None = None
    conditions: Conditions = ANY
    request_edits: tuple[RequestEdit, ...] = ()
    mirroring: Mirroring | None = None
    mirrors: tuple[MirrorClaim, ...] = ()
    auths: tuple[AuthClaim, ...] = ()

    @property
    def main(self) -> BranchClaim:
        """The first branch."""
        return self.branches[0]

    @property
    def is_redirected(self) -> bool:
        """Whether every request is redirected, so that no Service is used. It may be missing on purpose."""
        return any(isinstance(rule, _REDIRECT_EVERYTHING) or _answers_all(rule) for rule in self.gates)

    @property
    def place(self) -> str:
        """What is claimed, in words, as they stand in findings."""
        if self.is_default:
            return f"default of host {quote(self.host)}"
        return f"{self.kind.value} path {quote(self.host + self.path)}"


def _answers_all(rule: GateRule) -> bool:
    return isinstance(rule, Script | HostScript) and any(isinstance(step, AnswerWith) for step in rule.steps)


class RelayClaim(msgspec.Struct, frozen=True, gc=False):
    """Connections that shall be relayed, by the name that clients ask for. Fields as in `RelayRoute`.

    `closed`: every connection is reset on purpose.
    """

    name: str
    owner: Owner
    branches: tuple[BranchClaim, ...]
    ends_tls: bool = False
    connect_seconds: float = 5.0
    tries: int = 3
    sends_proxy_line: bool = False
    configuration: str = INGRESS
    listener: str = INGRESS
    closed: bool = False


class ClientTlsClaim(msgspec.Struct, frozen=True, gc=False):
    """What an object asks the clients of its hosts for; None: that cannot be read, so the hosts are closed.

    The rule names no host yet. `content_bytes` is the size of the authority and its revocation lists as PEM.
    """

    rule: ClientCertificates | None
    content_bytes: int = 0


class CertificateClaim(msgspec.Struct, frozen=True, gc=False):
    """A host to be served with TLS. `secret_name` is empty for the default certificate."""

    owner: Owner
    host: str
    secret_name: str


class HostClaim(msgspec.Struct, frozen=True, gc=False):
    """A host as its language has settled it.

    `claims` are the winners of its paths in the order of the routes, `default` that of what no path matches. `has_tls`:
    an object wants TLS for the host. `certificate` None: the host has none of its own. `is_lent`: the certificate is of
    a namespace that does not have the host, so it redirects nothing. `ciphers` is the OpenSSL list of handshakes for
    the host, if an object says one. `client_certificates` is what every path of the host asks of clients, `is_denied`
    says that this cannot be read, so the host is closed. `listener`, `configuration` and `trailing_slash` are as in
    `Host`. `passed_to` is where TLS of clients that ask for the host passes to, None: TLS ends here. `unmatched_gates`
    and `unmatched_rules` are for requests that neither a path nor a default of the host matches.
    """

    name: str
    claims: tuple[Claim, ...] = ()
    default: Claim | None = None
    has_tls: bool = False
    is_lent: bool = False
    certificate: CertificateClaim | None = None
    ciphers: str = ""
    client_certificates: ClientCertificates | None = None
    is_denied: bool = False
    passed_to: RelayClaim | None = None
    unmatched_gates: tuple[GateRule, ...] = ()
    unmatched_rules: tuple[ResponseRule, ...] = ()
    listener: str = INGRESS
    configuration: str = INGRESS
    trailing_slash: TrailingSlash = TrailingSlash.APART

    @property
    def key(self) -> str:
        """What no other host of the model has."""
        return self.name if self.listener == INGRESS else f"{self.listener} {self.name}"


class Claims(msgspec.Struct, frozen=True, gc=False):
    """Everything that one object claims.

    `secrets` are the Secrets that its routes need, by namespace and name, and `config_maps` the ConfigMaps. `logins`
    are the users that its gates name. `client_tls` is what its hosts ask clients for.
    """

    owner: Owner
    claims: tuple[Claim, ...] = ()
    secrets: tuple[tuple[str, str], ...] = ()
    logins: tuple[Logins, ...] = ()
    config_maps: tuple[tuple[str, str], ...] = ()
    client_tls: ClientTlsClaim | None = None


def created_epoch_seconds(metadata: Metadata) -> float:
    """When an object was created; infinite if its metadata has no readable time."""
    try:
        created = datetime.fromisoformat(metadata.creation_timestamp)
        # A timestamp without an offset is UTC, wherever this process runs.
        return created.replace(tzinfo=created.tzinfo or UTC).timestamp()
    except (ValueError, OverflowError):
        return math.inf


def subject_of_owner(owner: Owner) -> Subject:
    """The owner as the subject of a finding."""
    return Subject(owner.kind, owner.namespace, owner.name)
