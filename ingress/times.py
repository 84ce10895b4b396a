"""Defines how the times of a part of the process are shortened, so that the rules between them hold."""

from __future__ import annotations

from typing import Self

import msgspec


class ScalableTimes(msgspec.Struct, frozen=True):
    """Times of one part of the process. The name of a field says what it is: `…_seconds`, or `per_second`, a rate."""

    def scaled(self, factor: float) -> Self:
        """These times with every time multiplied by `factor`, and every rate divided by it."""
        fields = self.__struct_fields__
        times = {name: getattr(self, name) * factor for name in fields if name.endswith("_seconds")}
        rates = {name: getattr(self, name) / factor for name in fields if name == "per_second"}
        return msgspec.structs.replace(self, **times, **rates)
