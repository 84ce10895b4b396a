"""Scripts survive the way to a worker."""

from __future__ import annotations

import msgspec

from balancer.model.scripts import (
    AnswerWith,
    Comparing,
    Conditional,
    Criterion,
    Expiry,
    FieldBeside,
    FieldChange,
    OrderedEdits,
    RedirectFound,
    Script,
    SetVariable,
)


def test_a_script_is_the_same_after_its_way_to_a_worker() -> None:
    edits = OrderedEdits(
        ("x-a",), (FieldChange("X-B", "1", (404,), ("a/b",)),), Expiry(1), (FieldBeside("X-C", "1", True),)
    )
    steps = (
        SetVariable("a", "$host"),
        Conditional(Criterion("$a", Comparing.FOUND, "a"), (AnswerWith(200, "x"), RedirectFound("a", "b")), edits),
    )
    script = Script(steps, (("X-D", "1"),), edits)
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(script), type=Script) == script
