"""Parses Kubernetes quantities: amounts of CPU as Nodes state them.

Knows the grammar of `resource.Quantity` and computes exactly. Does not know what an amount is of.
"""

from __future__ import annotations

import math
import re
from fractions import Fraction

# The grammar of quantity.go: sign, digits with at most one point, and one binary, decimal or exponent suffix.
_QUANTITY = re.compile(
    r"(?=.{1,64}\Z)([+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+))(?:([KMGTPE]i)|([numkMGTPE])|[eE]([+-]?[0-9]{1,2}))?"
)
_BINARY = {unit: 1024**power for power, unit in enumerate(("Ki", "Mi", "Gi", "Ti", "Pi", "Ei"), 1)}
_POWERS = (-9, -6, -3, 3, 6, 9, 12, 15, 18)
_DECIMAL = {unit: Fraction(10) ** power for unit, power in zip("numkMGTPE", _POWERS, strict=True)}
# quantity.go keeps amounts within an int64.
_MOST = 2**63 - 1


def milli(quantity: str | int | float) -> int | None:
    """Thousandths of `4`, `3920m`, `1.5`, `2k`, `1Ki` or `12e6`, as a manifest's string or bare number.

    Rounded up as `Quantity.MilliValue` does, and exact before that. None if the text is not a quantity or too large.
    Source: k8s.io/apimachinery/pkg/api/resource/quantity.go.
    """
    if isinstance(quantity, int) and abs(quantity) > _MOST:
        return None  # a number with thousands of digits cannot even be written as text
    match = _QUANTITY.fullmatch(str(quantity))
    if match is None:
        return None
    number, binary, decimal, exponent = match.groups()
    scale = _BINARY[binary] if binary else _DECIMAL[decimal] if decimal else Fraction(10) ** int(exponent or 0)
    amount = math.ceil(Fraction(number) * scale * 1000)
    return amount if abs(amount) <= _MOST else None
