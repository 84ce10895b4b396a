"""Documents in slices are the same documents."""

from __future__ import annotations

import msgspec
import pytest

from ingress.admin.overview.encoding import encoded


class Head(msgspec.Struct):
    name: str = "x"


class Row(msgspec.Struct):
    number: int


@pytest.mark.parametrize("count", [0, 1, 149, 150, 151, 1000])
async def test_a_document_in_slices_is_whole(count: int) -> None:
    body = await encoded(Head(), {"rows": (Row(number) for number in range(count)), "others": iter([Row(1)])})
    assert msgspec.json.decode(body) == {
        "name": "x",
        "rows": [{"number": number} for number in range(count)],
        "others": [{"number": 1}],
    }
