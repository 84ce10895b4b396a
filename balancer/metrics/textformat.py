"""Writes metrics as Prometheus text, one line for each sample
(https://prometheus.io/docs/instrumenting/exposition_formats/).

Makes the text that names a series once, so that a page of hundreds of thousands of lines is cheap. Does not know where
values come from.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from math import isfinite, isnan
from typing import Final

from balancer.metrics.kinds import Definition

_ESCAPES: Final = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n"})
_HELP_ESCAPES: Final = str.maketrans({"\\": "\\\\", "\n": "\\n"})


def heading(definition: Definition) -> str:
    """The two lines before the samples of a metric."""
    meaning = definition.help.translate(_HELP_ESCAPES)
    return f"# HELP {definition.name} {meaning}\n# TYPE {definition.name} {definition.kind.value}\n"


def labels_text(definition: Definition, values: Sequence[str]) -> str:
    """The labels of a series without braces. Raises ValueError if their number differs from the definition's."""
    pairs = zip(definition.labels, values, strict=True)
    return ",".join([f'{name}="{value.translate(_ESCAPES)}"' for name, value in pairs])


def line(definition: Definition, labels: str, value: float) -> str:
    """One sample of a counter or gauge. `labels` is a result of `labels_text`."""
    where = f"{{{labels}}}" if labels else ""
    return f"{definition.name}{where} {number(value)}\n"


def number(value: float) -> str:
    """A value as text that reads back as the same number."""
    value = float(value)
    if isfinite(value):
        return f"{value:.0f}" if value.is_integer() else repr(value)
    if isnan(value):
        return "NaN"
    return "+Inf" if value > 0 else "-Inf"


class HistogramText:
    """Writes the series of a histogram with labels. The lines of each series are one fixed text with gaps for the
    values.
    """

    __slots__ = ("_buckets", "_gaps")

    def __init__(self, definition: Definition) -> None:
        name, bounds = definition.name, (*map(str, definition.buckets), "+Inf")
        self._buckets = len(bounds)
        lines = [f'{name}_bucket{{%s,le="{bound}"}} %.0f\n' for bound in bounds]
        self._gaps = "".join([*lines, f"{name}_count{{%s}} %.0f\n", f"{name}_sum{{%s}} %s\n"])

    def lines(self, labels: str, values: Sequence[float]) -> str:
        """All lines of one series. `values` are the counts of its buckets, not cumulative, and the sum."""
        counts = list(accumulate(values[: self._buckets]))
        filling: list[str | float] = [labels] * (2 * self._buckets + 4)
        filling[1::2] = [*counts, counts[-1], number(values[self._buckets])]
        return self._gaps % tuple(filling)
