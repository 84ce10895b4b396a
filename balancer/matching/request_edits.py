"""Edits the fields of requests on their way to endpoints, as a route and its branch say. No I/O.

Edits are put together at the swap: those of the route come first, then those of the branch.
"""

from __future__ import annotations

from collections.abc import Iterable

from balancer.http.looping import LOOP_FIELDS
from balancer.http.messages import Fields
from balancer.http.passing import like_dashes
from balancer.http.streams import Outgoing
from balancer.model.edits import RequestEdit


class RequestEditor:
    """Edits requests. It keeps nothing of one request.

    `added` are the fields that the endpoint gets, `names` those, in lower case, of which it gets no others.
    """

    __slots__ = ("_dashed", "added", "names")

    def __init__(self, edits: Iterable[RequestEdit]) -> None:
        added: list[tuple[bytes, bytes]] = []
        names: set[bytes] = set()
        for edit in edits:
            gone = {name.lower().encode("ascii") for name in (*edit.remove, *(name for name, _ in edit.set))}
            gone -= LOOP_FIELDS
            names |= gone
            added = [field for field in added if field[0].lower() not in gone]
            added += [(name.encode("ascii"), value.encode("latin-1")) for name, value in (*edit.set, *edit.add)]
        self.added: Fields = tuple(added)
        self.names = frozenset(names)
        self._dashed = frozenset(map(like_dashes, names))

    def edited(self, fields: Fields) -> Fields:
        """`fields` as an endpoint gets them that gets nothing else."""
        return (*(field for field in fields if field[0].lower() not in self.names), *self.added)

    def put_on(self, outgoing: Outgoing) -> None:
        """Edits the fields of `outgoing`, also those that gates have added."""
        names = self.names
        if names:
            outgoing.replaced = outgoing.replaced | names if outgoing.replaced else names
            if outgoing.added:
                outgoing.added = _without(outgoing.added, names)
            if outgoing.passing.underscores:
                outgoing.replaced |= _written_like(self._dashed, outgoing.request.fields)
        outgoing.added += self.added


def _without(fields: Fields, names: frozenset[bytes]) -> Fields:
    return tuple(field for field in fields if field[0].lower() not in names)


def _written_like(dashed: frozenset[bytes], fields: Fields) -> frozenset[bytes]:
    """The names that an endpoint may take for one of `dashed`: it may take X_Tenant of a client for X-Tenant."""
    return frozenset(name for name, _ in fields if b"_" in name and like_dashes(name) in dashed)


def request_editor_of(edits: Iterable[RequestEdit]) -> RequestEditor | None:
    """The editor of `edits`; None if they change nothing."""
    editor = RequestEditor(edits)
    return editor if editor.added or editor.names else None
