"""Defines what Ingresses claim for whole hosts, beside their paths, and a host whose paths have winners."""

from __future__ import annotations

import math
from collections.abc import Callable

import msgspec

from balancer.model.client_tls import ClientCertificates
from balancer.model.edits import ResponseRule
from balancer.model.gates import GateRule
from balancer.model.redirects import AppRoot, SlashRedirect, UrlForm
from balancer.model.routes import PathKind
from ingress.settings.snippets.levels import Level
from ingress.translation.claims import CertificateClaim, Claim, Claims, HostClaim, RelayClaim
from ingress.translation.ingress.passing import TlsPassing


class PlaceClaim(Claim, frozen=True):
    """A claim of an Ingress to a path, and what it means for the whole host.

    `is_expression`: `path` is written as a regular expression, which makes all paths of the host expressions. Then
    `expression` and `long_expression` are filled in; until then, the expression of `rewriting` is as the Ingress writes
    it. `app_root` is for the path `/` of the host, whichever Ingress claims it. `slash_redirect` is for the path
    without its final slash, if no Ingress claims it. `snippet` is what the Ingress says in lines of nginx, and
    `url_form` the form of URLs to which they redirect. `hides_fields`: the ConfigMap hides fields of endpoints.
    `is_enough_any`: one of several rules about access is enough.
    """

    is_expression: bool = False
    app_root: AppRoot | None = None
    slash_redirect: SlashRedirect | None = None
    snippet: Level = Level()
    url_form: UrlForm = UrlForm()
    hides_fields: bool = False
    is_enough_any: bool = False


class OwnClaims(Claims, frozen=True):
    """Everything that one Ingress claims.

    `created_epoch_seconds` is infinite where the Ingress does not say when it was created; `sequence` is its place in
    its folder then. `hosts` are claimed even where no path is left: an unmatched path must not reach another host.
    `ciphers` is the OpenSSL list of handshakes for these hosts, if the Ingress says one.
    `aliases` are further names of each of these hosts, which may be no host names. With a `twin_status`, the other name
    of each host, with or without `www.`, redirects to the host with this status.
    `server_snippet` is what the Ingress says for its hosts in lines of nginx, None: nothing.
    `passing` says whether the TLS of these hosts passes to endpoints. `services` are those that the branches of its
    claims name, by namespace and name: thousands of Ingresses are the same from one translation to the next.
    `is_canary`: the Ingress claims only places that others have; its claims have one branch, which they may get.
    """

    claims: tuple[PlaceClaim, ...] = ()
    created_epoch_seconds: float = math.inf
    sequence: int = 0
    hosts: tuple[str, ...] = ()
    ciphers: str = ""
    aliases: tuple[str, ...] = ()
    twin_status: int = 0
    certificates: tuple[CertificateClaim, ...] = ()
    server_snippet: Level | None = None
    passing: TlsPassing = TlsPassing()
    services: frozenset[tuple[str, str]] = frozenset()
    is_canary: bool = False


class Elsewhere(msgspec.Struct, frozen=True):
    """What holds for the requests of a host that no path matches."""

    gates: tuple[GateRule, ...] = ()
    response_rules: tuple[ResponseRule, ...] = ()


class SettledHost(msgspec.Struct, kw_only=True, eq=False):
    """A host, and the winner of each of its paths, of its default, of its certificate and of its list of ciphers.

    `holder` is the namespace that claimed the host first: it alone says what holds for the whole host. `has_tls`: an
    Ingress of it wants TLS for the host. `expressions` are the winners in the order in which they are tried, None
    unless paths are regular expressions. `alias_of`: the host is another name of this host, whose paths and default it
    has; None for the host of a rule. `client_certificates` are what clients are asked for, and `is_denied` says that
    this cannot be read. `passed_to` is where its TLS passes to, None: TLS ends here. `elsewhere` is what judges and
    edits requests that no path matches, if there is no default: gates and response rules.
    """

    holder: str
    has_tls: bool
    alias_of: str | None = None
    expressions: tuple[PlaceClaim, ...] | None = None
    paths: dict[tuple[str, PathKind], PlaceClaim] = {}
    default: PlaceClaim | None = None
    certificate: CertificateClaim | None = None
    ciphers: str = ""
    client_certificates: ClientCertificates | None = None
    is_denied: bool = False
    passed_to: RelayClaim | None = None
    elsewhere: Elsewhere | None = None

    def winner(self, claim: PlaceClaim) -> PlaceClaim | None:
        """The winner of the place that `claim` names."""
        return self.default if claim.is_default else self.paths.get((claim.path, claim.kind))

    def give(self, claim: PlaceClaim) -> None:
        """Gives `claim` the place that it names."""
        if claim.is_default:
            self.default = claim
        else:
            self.paths[claim.path, claim.kind] = claim

    def change(self, change: Callable[[PlaceClaim], PlaceClaim]) -> None:
        """Changes every claim of the host."""
        for claim in tuple(self.paths.values()):
            self.give(change(claim))
        if self.default is not None:
            self.default = change(self.default)
        if self.expressions is not None:
            self.expressions = tuple(map(change, self.expressions))

    def claim(self, name: str, served: SettledHost) -> HostClaim:
        """The host under its `name`. `served` has its paths: itself, or the host of which it is an alias.

        An alias redirects to https if its own name has TLS. What protects a host comes from `served`, so that no alias
        opens it. Routes are sorted by path and kind, or in the order in which expressions are tried.
        """
        paths = served.expressions
        if paths is None:
            paths = tuple(served.paths.values())
            if len(paths) > 1:
                paths = tuple(sorted(paths, key=lambda claim: (claim.path, claim.kind.value)))
        return HostClaim(
            name=name,
            claims=paths,
            default=served.default,
            has_tls=self.has_tls,
            certificate=self.certificate,
            is_lent=self.certificate is not None and self.certificate.owner.namespace != self.holder,
            ciphers=served.ciphers,
            client_certificates=served.client_certificates,
            is_denied=served.is_denied,
            passed_to=None if served.passed_to is None else msgspec.structs.replace(served.passed_to, name=name),
            unmatched_gates=served.elsewhere.gates if served.elsewhere is not None else (),
            unmatched_rules=served.elsewhere.response_rules if served.elsewhere is not None else (),
        )
