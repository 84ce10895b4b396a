"""Watches: which events a watch begins with and what each change is to it.

Responsible for watch options, for the order of initial events, bookmarks and history, and for the bytes of an event. It
must not know connections, time or faults.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from tests.fakes.apiserver.kinds import Document, Resource
from tests.fakes.apiserver.listing import View
from tests.fakes.apiserver.requests import number
from tests.fakes.apiserver.statuses import NOT_STREAMING, Problem, failure, invalid
from tests.fakes.apiserver.store import Change, Form, Store, Stored

_INITIAL_EVENTS_END = {"k8s.io/initial-events-end": "true"}


class Options(msgspec.Struct, frozen=True):
    """What a watch was asked for; `version` is empty for the newest."""

    version: str
    sends_initial_events: bool
    allows_bookmarks: bool
    timeout_seconds: int


class Opening(msgspec.Struct, frozen=True):
    """How a watch begins: lines to send at once, and whether it ends there. Changes after `version` follow."""

    lines: tuple[bytes, ...]
    version: int
    is_over: bool = False


def options_of(query: Mapping[str, str]) -> Options:
    """Raises `RefusedError`: 400 for numbers that are none, 422 for options that exclude each other."""
    number(query, "resourceVersion")
    initial, match = query.get("sendInitialEvents", ""), query.get("resourceVersionMatch", "")
    if initial and match != "NotOlderThan":
        raise _forbidden("sendInitialEvents requires setting resourceVersionMatch to NotOlderThan")
    if match and not initial:
        raise _forbidden("resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided")
    return Options(
        version=query.get("resourceVersion", ""),
        sends_initial_events=initial in ("1", "true"),
        allows_bookmarks=query.get("allowWatchBookmarks", "") in ("1", "true"),
        timeout_seconds=number(query, "timeoutSeconds"),
    )


def _forbidden(text: str) -> Exception:
    problem = Problem("resourceVersionMatch", "FieldValueForbidden", f"Forbidden: {text}")
    return invalid("ListOptions", "meta.k8s.io", "", [problem])


def opening(
    store: Store, view: View, options: Options, *, form: Form, streaming_lists: bool, at: int | None, is_empty: bool
) -> Opening:
    """How the watch begins. With `at`, as of that version; with `is_empty`, initial events show no object."""
    now = store.version if at is None else at
    if options.sends_initial_events and not streaming_lists:
        return Opening((error_line(failure(500, NOT_STREAMING)),), now, is_over=True)
    if options.sends_initial_events or options.version in ("", "0"):
        objects = store.objects_at(view.resource.kind, now)
        if objects is None:
            return _expired(now, store.version)
        lines = [] if is_empty else [stored.line("ADDED", view.resource, form) for stored in view.of(objects)]
        if options.sends_initial_events and options.allows_bookmarks:
            lines.append(bookmark_line(view.resource, form, now, ends_initial_events=True))
        return Opening((*lines, *_history(store, view, form, now)), store.version)
    since = int(options.version)
    if store.since(view.resource.kind, since) is None:
        return _expired(since, store.version)
    return Opening(_history(store, view, form, since), max(since, store.version))


def _expired(asked: int, now: int) -> Opening:
    return Opening((error_line(failure(410, f"too old resource version: {asked} ({now})")),), now, is_over=True)


def _history(store: Store, view: View, form: Form, version: int) -> tuple[bytes, ...]:
    changes = store.since(view.resource.kind, version) or []
    return tuple(line for change in changes if (line := change_line(change, view, form)))


def change_line(change: Change, view: View, form: Form) -> bytes:
    """The event that a change is to this watch, empty where it is none.

    An object that a selector no longer matches is DELETED, and one that it matches from now on is ADDED.
    """
    before = change.before is not None and view.shows(change.before)
    if change.after is not None and view.shows(change.after):
        return change.after.line("MODIFIED" if before else "ADDED", view.resource, form)
    return change.gone.line("DELETED", view.resource, form) if before else b""


def error_line(status: Document) -> bytes:
    return msgspec.json.encode({"type": "ERROR", "object": status}) + b"\n"


def bookmark_line(resource: Resource, form: Form, version: int, *, ends_initial_events: bool = False) -> bytes:
    """A bookmark: an empty object of the kind that carries a version."""
    metadata: Document = {"resourceVersion": str(version)}
    if ends_initial_events:
        metadata["annotations"] = _INITIAL_EVENTS_END
    return Stored({"metadata": metadata} | resource.empty, version).line("BOOKMARK", resource, form)
