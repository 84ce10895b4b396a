"""Edits fields of responses one after the other, as nginx and its module headers-more do. No I/O.

What an edit does is planned at the swap. The values of its texts come with it: the same for every response, or those of
one request. Sources: ngx_http_headers_filter_module.c, headers-more-nginx-module.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from balancer.http.dates import http_date
from balancer.http.edits import HeadEdit, ResponseEditor
from balancer.http.messages import Field, Fields, RequestHead, ResponseHead, field_value
from balancer.http.origin import Origin
from balancer.model.scripts import Expiry, FieldChange, OrderedEdits

Clock = Callable[[], float]
"""Says what time it is, in seconds since the epoch."""

# Responses that get add_header without `always`, and expires (ngx_http_headers_filter).
_SUCCESSFUL = frozenset((200, 201, 204, 206, 301, 302, 303, 304, 307, 308))
_EXPIRES, _CONTROL = b"Expires", b"Cache-Control"
_OF_EXPIRY = frozenset((b"expires", b"cache-control"))


class _Change(NamedTuple):
    """A planned `FieldChange`. `beginning`: `name`, in lower case, is how the removed names begin."""

    spelled: bytes
    name: bytes
    beginning: bool
    statuses: frozenset[int]
    types: frozenset[bytes]

    def concerns(self, status: int, media_type: bytes) -> bool:
        return (not self.statuses or status in self.statuses) and (not self.types or media_type in self.types)


class EditPlan:
    """What `OrderedEdits` do, without the values of their texts.

    `texts` are the texts in the order in which an editor takes their values.
    """

    __slots__ = ("beside", "changes", "expiry", "hidden", "texts")

    def __init__(self, edits: OrderedEdits) -> None:
        self.hidden = frozenset(name.encode("ascii") for name in edits.hidden)
        self.changes = tuple(map(_planned, edits.changes))
        self.expiry = edits.expiry
        self.beside = tuple((each.name.encode("ascii"), each.always) for each in edits.beside)
        self.texts = (*(each.text for each in edits.changes), *(each.text for each in edits.beside))

    @property
    def changes_nothing(self) -> bool:
        """Whether every response stays as it is."""
        return not (self.hidden or self.changes or self.expiry or self.beside)


class OrderedEditor(ResponseEditor):
    """Edits responses by a plan with these values."""

    __slots__ = ("_beside", "_changes", "_last", "_now", "_plan")

    def __init__(self, plan: EditPlan, values: Sequence[bytes], now: Clock | None = None) -> None:
        """`values` are those of the texts of `plan`. `now` is needed where `plan` has an expiry by seconds."""
        self._plan = plan
        self._changes = tuple(zip(plan.changes, values, strict=False))
        self._beside = tuple(zip(plan.beside, values[len(plan.changes) :], strict=True))
        self._now = now
        # As in `FieldSetter`: equal heads with one edit are written once.
        self._last: tuple[HeadEdit, int, bytes, HeadEdit] | None = None

    def edit(self, request: RequestHead, origin: Origin, response: ResponseHead, given: HeadEdit) -> HeadEdit:
        """`given` with the changes."""
        status, media_type, last = response.status, _media_type(response, given), self._last
        is_repeatable = self._plan.expiry is None or bool(self._plan.expiry.date)
        if last is not None and last[0] is given and last[1] == status and last[2] == media_type:
            return last[3]
        edit = self._edited(response, given, media_type)
        if is_repeatable and not any(change.beginning for change in self._plan.changes):
            self._last = given, status, media_type, edit
        return edit

    def _edited(self, response: ResponseHead, given: HeadEdit, media_type: bytes) -> HeadEdit:
        status = response.status
        removed, added = set(given.removed | self._plan.hidden), list(given.added)
        for change, value in self._changes:
            if change.concerns(status, media_type):
                names = _names(change, response.fields, added)
                removed |= names
                added = [field for field in added if field[0].lower() not in names]
                added += [(change.spelled, value)] if value else []
        if status in _SUCCESSFUL and self._plan.expiry is not None:
            removed |= _OF_EXPIRY
            added = [field for field in added if field[0].lower() not in _OF_EXPIRY]
            added += self._freshness(self._plan.expiry)
        added += [
            (name, value) for (name, always), value in self._beside if value and (always or status in _SUCCESSFUL)
        ]
        return HeadEdit(frozenset(removed), tuple(added))

    def _freshness(self, expiry: Expiry) -> Fields:
        if expiry.date:
            return (_EXPIRES, expiry.date.encode("ascii")), (_CONTROL, expiry.control.encode("ascii"))
        assert self._now is not None
        date = http_date(self._now() + expiry.seconds)
        control = b"no-cache" if expiry.seconds < 0 else b"max-age=%d" % expiry.seconds
        return (_EXPIRES, date), (_CONTROL, control)


def _planned(change: FieldChange) -> _Change:
    beginning = change.name.endswith("*")
    spelled = change.name.removesuffix("*").encode("ascii")
    types = frozenset(each.lower().encode("ascii") for each in change.types)
    return _Change(spelled, spelled.lower(), beginning, frozenset(change.statuses), types)


def _names(change: _Change, fields: Fields, added: Sequence[Field]) -> set[bytes]:
    """The names, in lower case, of the fields that a change replaces or removes."""
    if not change.beginning:
        return {change.name}
    return {name for field in (*fields, *added) if (name := field[0].lower()).startswith(change.name)}


def _media_type(response: ResponseHead, given: HeadEdit) -> bytes:
    """The media type of a response without its parameters, in lower case; an answer of the proxy says it in `given`."""
    found = field_value(response.fields, b"content-type")
    if found is None:
        found = next((value for name, value in given.added if name.lower() == b"content-type"), b"")
    return found.partition(b";")[0].strip().lower()
