"""The tables of several hosts through which requests fall: what one has no route for, the next one may serve."""

from __future__ import annotations

from balancer.http.messages import RequestHead
from balancer.matching.careful_tables import CarefulTable
from balancer.matching.choice_tables import ChoiceTable
from balancer.matching.choices import SHARED, RequestFacts
from balancer.matching.host_compiling import Care
from balancer.matching.host_tables import HostTable
from balancer.matching.served import Match


class Falling(HostTable):
    """The tables of the hosts of one listener that cover a host, the most specific one first, and the default route."""

    __slots__ = ("_default", "_tables")

    def __init__(self, tables: tuple[HostTable, ...], default: Match | None) -> None:
        self.host = tables[0].host
        self._tables = tables
        self._default = default

    def match(self, path: bytes, target: bytes, request: RequestHead | None = None) -> Match | None:
        for table in self._tables:
            match = table.match(path, target, request)
            if match is not None:
                return match
        return self._default


class FallingFar(Falling):
    """As above, where several tables read or search more of a request than its path: all of them may cost what one may.

    Else a tenant with a hundred wildcards could have a request searched a hundred times.
    """

    __slots__ = ()

    def match(self, path: bytes, target: bytes, request: RequestHead | None = None) -> Match | None:
        SHARED.facts = None if request is None else RequestFacts(request)
        try:
            return Falling.match(self, path, target, request)
        finally:
            SHARED.facts = None


def falling(tables: tuple[HostTable, ...], default: Match | None, care: Care) -> HostTable:
    """The table of hosts that fall through. `care` is what they ask for together."""
    plain = tuple(each.routes if isinstance(each, CarefulTable) else each for each in tables)
    is_far = sum(isinstance(each, ChoiceTable) for each in plain) > 1
    kind = FallingFar if is_far else Falling
    if not care.compares:
        return kind(tables, default)
    return CarefulTable(kind(plain, default), True, care.searches)
