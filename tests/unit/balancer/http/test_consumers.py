"""Whoever takes a response must take every event of it."""

from __future__ import annotations

import inspect

import pytest

from balancer.http.consumers import ResponseConsumer

EVENTS = [name for name, _ in inspect.getmembers(ResponseConsumer, inspect.isroutine) if not name.startswith("_")]


@pytest.mark.parametrize("event", EVENTS)
def test_an_event_that_nobody_takes_is_an_error(event: str) -> None:
    arguments: dict[str, tuple[object, ...]] = {"response_started": (None, b"", None), "switched": (None, b"")}
    arguments |= {"response_data": (b"",), "response_end": ((),), "interim": (None,), "endpoint_failed": (None,)}
    with pytest.raises(NotImplementedError):
        getattr(ResponseConsumer(), event)(*arguments.get(event, ()))
