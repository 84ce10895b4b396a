"""Makes the requests that go to a stand-in: the error page of a route, or what serves while it has no endpoints.

Source: the template of ingress-nginx v1.15.1 (CUSTOM_ERRORS). No I/O.
"""

from __future__ import annotations

import msgspec

from balancer.http.messages import Fields, RequestHead, field_value
from balancer.http.streams import Outgoing
from balancer.matching.branches import HasEndpoints
from balancer.matching.destinations import Destination, instead
from balancer.model.gates import access_rules, withheld_by
from balancer.model.routes import Route

_NO_ENDPOINTS_STATUS = 503
_ONLY_OURS = frozenset(
    (
        b"x-code",
        b"x-format",
        b"x-original-uri",
        b"x-namespace",
        b"x-ingress-name",
        b"x-service-name",
        b"x-service-port",
    )
)
_NOTHING: frozenset[int] = frozenset()


class RouteStandIns:
    """The stand-ins of one route.

    `statuses` are those of answers of the proxy, and `intercepted` those of endpoints' responses, that an error page
    replaces. `page` leads to the error page, None for a page of the proxy itself. `without_endpoints` is what
    serves while the main branch has no endpoints, or None.
    """

    __slots__ = ("_facts", "_withheld", "intercepted", "page", "statuses", "without_endpoints")

    def __init__(self, route: Route) -> None:
        rules = route.stand_ins
        assert rules is not None
        pages = rules.error_pages
        self.statuses = frozenset(pages.statuses) if pages is not None else _NOTHING
        self.intercepted = self.statuses if pages is not None and pages.intercepts else _NOTHING
        self.page = instead(route, pages.backend if pages is not None else None)
        self.without_endpoints = instead(route, rules.without_endpoints)
        facts = (
            (b"X-Namespace", route.main.service.namespace),
            (b"X-Ingress-Name", route.owner.name),
            (b"X-Service-Name", route.main.service.name),
            (b"X-Service-Port", rules.service_port),
        )
        # A page may be asked for before the gates of the route were asked, and without what they add.
        gated = (name.encode() for rule in access_rules(route.gates) for name in withheld_by(rule))
        self._withheld = _ONLY_OURS.union(gated)
        self._facts: Fields = tuple((name, value.encode()) for name, value in facts if value)

    def instead_of(self, main: Destination, has_endpoints: HasEndpoints) -> Destination | None:
        """What serves instead of `main` now; None if that has endpoints, or nothing else has."""
        stand_in = self.without_endpoints
        if stand_in is None or has_endpoints(main.backend) or not has_endpoints(stand_in.backend):
            return None
        return stand_in

    def ask_for_page(self, status: int, outgoing: Outgoing, *, with_body: bool) -> Outgoing:
        """The request for the error page of `status`: that of the client, at `/` with its query.

        It has the client's method, and the client's body if `with_body`. The fields that gates withhold from the
        endpoint are withheld here, too.
        """
        request = outgoing.request
        query = request.target.partition(b"?")
        changes = {"target": b"/" + query[1] + query[2], "upgrade": b""}
        head = msgspec.structs.replace(request, **changes)
        if not with_body and request.body_bytes != 0:
            head = msgspec.structs.replace(head, body_bytes=0, expects_continue=False)
        told = (*self._told(status, request), (b"X-Original-URI", request.raw_target))
        return Outgoing(
            head,
            outgoing.origin,
            outgoing.request_id,
            passing=outgoing.passing,
            added=told,
            removed=self._removed(request),
        )

    def prepare(self, outgoing: Outgoing, to: Destination) -> frozenset[int]:
        """The statuses of responses to `outgoing`, on its way to `to`, that an error page replaces.

        If `to` is `without_endpoints`, the request, whose target stays, tells why it goes there.
        """
        if to is not self.without_endpoints:
            return self.intercepted
        outgoing.added += self._told(_NO_ENDPOINTS_STATUS, outgoing.request)
        outgoing.removed |= self._removed(outgoing.request)
        return _NOTHING

    def _removed(self, request: RequestHead) -> frozenset[bytes]:
        """The client's fields that no stand-in gets: what only we may say, passwords, and what an auth service says.

        An endpoint may read a name with `_` as the same name with `-`, as CGI does.
        """
        odd = [name for name, _ in request.fields if b"_" in name and name.replace(b"_", b"-") in self._withheld]
        return self._withheld.union(odd)

    def _told(self, status: int, request: RequestHead) -> Fields:
        accept = field_value(request.fields, b"accept")
        wanted = ((b"X-Format", accept),) if accept else ()
        return ((b"X-Code", b"%d" % status), *wanted, *self._facts)


def stand_ins_of(route: Route) -> RouteStandIns | None:
    """The stand-ins of a route, or None."""
    return RouteStandIns(route) if route.stand_ins is not None else None
