"""Defines claims: what objects of any input language ask to be served.

Every language is translated into these values. Conflicts and assembly read nothing else. Does not know any language,
nor what other objects claim.
"""

from __future__ import annotations

import math
from datetime import UTC, datetime

import msgspec

from balancer.model.client_tls import ClientCertificates
from balancer.model.edits import ResponseRule
from balancer.model.endpoints import EndpointTls
from balancer.model.gates import GateRule
from balancer.model.logins import Logins
from balancer.model.mirroring import Mirroring
from balancer.model.policies import Affinity, RoutePolicy
from balancer.model.redirects import AppRoot, HttpsRedirect, NameRedirect, SlashRedirect, TargetRedirect
from balancer.model.rewriting import Rewriting
from balancer.model.routes import Branch, Owner, PathKind
from ingress.findings import Subject, quote
from ingress.objects.kinds import Metadata, ServiceReference
from ingress.settings.table.option import Overrides


class StandInClaim(msgspec.Struct, frozen=True):
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
_REDIRECT_EVERYTHING = (AppRoot, NameRedirect, SlashRedirect, TargetRedirect)


class Claim(msgspec.Struct, frozen=True):
    """One path of a host, the Service that shall answer it, and how.

    `is_default`: the claim is to the requests that no path of the host matches; `path` is `/` then.
    `redirects_to_https`: the route redirects plain HTTP. `redirects_beside_tls`: the route does so if an object wants
    TLS for its host. `https_redirect` is how.
    `tls` and `http2` are how the endpoints are spoken to, as in `Backend`; `http2` None: as the Service says.
    `overrides` is what the owner says about the backend: `ZoneSettings` for its own requests, and `BackendSettings` for
    all requests. `closed`: every request answers 503 on purpose.
    `is_expression`: `path` is written as a regular expression, which makes all paths of the host expressions. Then
    `expression` and `long_expression` are filled in. `rewriting` says which target endpoints get; until `expression`
    is filled in, its own expression is as the object writes it. `app_root` is for the path `/` of the host, whichever
    object claims it. `slash_redirect` is for the path without its final slash, if no object claims it.
    `mirroring` says who gets copies; whether at a local address is the operator's to say.
    `canary`: the claim is to some of the requests of the path, which another object must claim. The value says which
    requests; its backend is filled in when `service` is resolved.
    """

    owner: Owner
    host: str
    path: str
    kind: PathKind
    service: ServiceReference
    is_default: bool = False
    policy: RoutePolicy = RoutePolicy()
    redirects_to_https: bool = False
    redirects_beside_tls: bool = False
    https_redirect: HttpsRedirect = HttpsRedirect()
    app_root: AppRoot | None = None
    slash_redirect: SlashRedirect | None = None
    affinity: Affinity | None = None
    hash_by: str = ""
    hash_subset: int = 1
    tls: EndpointTls | None = None
    http2: bool | None = None
    overrides: Overrides = Overrides()
    gates: tuple[GateRule, ...] = ()
    response_rules: tuple[ResponseRule, ...] = ()
    stand_in: StandInClaim = StandInClaim()
    closed: bool = False
    is_expression: bool = False
    expression: str = ""
    long_expression: str = ""
    rewriting: Rewriting | None = None
    mirroring: Mirroring | None = None
    canary: Branch | None = None

    @property
    def is_redirected(self) -> bool:
        """Whether every request is redirected, so that the Service is never used. It may be missing on purpose."""
        return any(isinstance(rule, _REDIRECT_EVERYTHING) for rule in self.gates)

    @property
    def place(self) -> str:
        """What is claimed, in words, as they stand in findings."""
        if self.is_default:
            return f"default of host {quote(self.host)}"
        return f"{self.kind.value} path {quote(self.host + self.path)}"


class ClientTlsClaim(msgspec.Struct, frozen=True):
    """What an object asks the clients of its hosts for; None: that cannot be read, so the hosts are closed.

    The rule names no host yet. `content_bytes` is the size of the authority and its revocation lists as PEM.
    """

    rule: ClientCertificates | None
    content_bytes: int = 0


class CertificateClaim(msgspec.Struct, frozen=True):
    """A host to be served with TLS. `secret_name` is empty for the default certificate."""

    owner: Owner
    host: str
    secret_name: str


class Claims(msgspec.Struct, frozen=True):
    """Everything that one object claims.

    `created_epoch_seconds` is infinite where the object does not say when it was created; `sequence` is its place in
    its folder then. `hosts` are claimed even where no path is left: an unmatched path must not reach another host.
    `ciphers` is the OpenSSL list of handshakes for these hosts, if the object says one.
    `aliases` are further names of each of these hosts, which may be no host names. With a `twin_status`, the other name
    of each host, with or without `www.`, redirects to the host with this status. `secrets` are the Secrets that its
    routes need, by namespace and name, and `config_maps` the ConfigMaps. `logins` are the users that its gates name.
    `client_tls` is what its hosts ask clients for.
    `is_canary`: the object claims only places that others have.
    """

    owner: Owner
    created_epoch_seconds: float = math.inf
    sequence: int = 0
    hosts: tuple[str, ...] = ()
    ciphers: str = ""
    aliases: tuple[str, ...] = ()
    twin_status: int = 0
    claims: tuple[Claim, ...] = ()
    certificates: tuple[CertificateClaim, ...] = ()
    secrets: tuple[tuple[str, str], ...] = ()
    logins: tuple[Logins, ...] = ()
    config_maps: tuple[tuple[str, str], ...] = ()
    client_tls: ClientTlsClaim | None = None
    is_canary: bool = False


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
