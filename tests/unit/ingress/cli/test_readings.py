"""Values of options that are more than a word or a number."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click
import pytest

from ingress.cli.flags import BadInput
from ingress.cli.readings import addresses, expected_status, peers

CONTEXT = click.Context(click.Command("zonal"))
OPTION = click.Option(["--option"])


def test_values_are_taken() -> None:
    assert peers(CONTEXT, OPTION, ("replica-1:9000", "[::1]:9001")) == ("replica-1:9000", "[::1]:9001")
    assert [expected_status(CONTEXT, OPTION, said) for said in ("503", "endpoint", "", None)] == [
        "503",
        "endpoint",
        None,
        None,
    ]
    assert [len(addresses(CONTEXT, OPTION, said)) for said in ("203.0.113.1,lb.test", "", None)] == [2, 0, 0]


@pytest.mark.parametrize(
    ("read", "said"),
    [
        (peers, ("replica-1",)),
        (peers, ("replica-1:0",)),
        (peers, (":9000",)),
        (peers, ("replica-1:70000",)),
        (expected_status, "600"),
        (expected_status, "5xx"),
        (addresses, "no address"),
    ],
)
def test_others_are_bad_input(read: Callable[..., Any], said: Any) -> None:
    with pytest.raises(BadInput):
        read(CONTEXT, OPTION, said)
