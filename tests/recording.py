"""Counts requests as a worker does, with every fact by its name."""

from __future__ import annotations

from typing import Any

from balancer.metrics.recorder import Recorder, RequestLabels


def record(recorder: Recorder, **facts: Any) -> None:
    """Counts one request. The facts are the labels of a request and the arguments of `Recorder.request`."""
    labels = {name: facts.pop(name) for name in RequestLabels._fields if name in facts}
    recorder.request(RequestLabels(**labels), **facts)
