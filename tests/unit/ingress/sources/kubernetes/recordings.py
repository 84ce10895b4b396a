"""Recorded answers of a real API server 1.36, as the bytes that it sent."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

_WIRE = Path(__file__).parents[4] / "cases" / "wire.json"


@cache
def _exchanges() -> dict[str, dict[str, Any]]:
    return {exchange["name"]: exchange for exchange in json.loads(_WIRE.read_text())["exchanges"]}


def answer(name: str) -> tuple[int, bytes]:
    """Status and body of an exchange; the body of a watch is its lines."""
    response = _exchanges()[name]["response"]
    if "events" in response:
        return response["status"], b"".join(json.dumps(event["event"]).encode() + b"\n" for event in response["events"])
    body = response["body"]
    return response["status"], body.encode() if isinstance(body, str) else json.dumps(body).encode()


def lines(name: str) -> list[bytes]:
    """The events of a watch, a line each."""
    return answer(name)[1].splitlines()
