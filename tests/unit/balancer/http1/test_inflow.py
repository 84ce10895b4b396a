"""A connection is read unless a consumer holds the client back, or bytes that have come wait."""

from __future__ import annotations

import asyncio

import pytest

from balancer.http1.inflow import Inflow


class Wire(asyncio.Transport):
    """Notes whether it is read."""

    def __init__(self) -> None:
        super().__init__()
        self.told: list[str] = []
        self.is_ended = False

    def pause_reading(self) -> None:
        self.told.append("pause")

    def resume_reading(self) -> None:
        self.told.append("resume")

    def is_closing(self) -> bool:
        return self.is_ended


@pytest.fixture
def wire() -> Wire:
    return Wire()


@pytest.fixture
def inflow(wire: Wire) -> Inflow:
    inflow = Inflow()
    inflow._transport = wire
    return inflow


def test_the_transport_is_told_of_changes_only(inflow: Inflow, wire: Wire) -> None:
    inflow.resume_reading()
    inflow.pause_reading()
    inflow.pause_reading()
    inflow.resume_reading()
    assert wire.told == ["pause", "resume"]


def test_both_reasons_have_to_end(inflow: Inflow, wire: Wire) -> None:
    inflow.put_off(True)
    inflow.pause_reading()
    inflow.put_off(False)
    assert wire.told == ["pause"]
    inflow.resume_reading()
    assert wire.told == ["pause", "resume"]


def test_a_transport_that_closes_is_told_nothing(inflow: Inflow, wire: Wire) -> None:
    wire.is_ended = True
    inflow.pause_reading()
    assert wire.told == []


def test_without_a_transport_nothing_happens() -> None:
    inflow = Inflow()
    inflow.pause_reading()
    inflow.resume_reading()
