"""The matchers of the cases."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from email.utils import parsedate_to_datetime
from typing import Any


def matches(matcher: Any, values: Sequence[object]) -> bool:
    """Whether `values`, all that was seen under a name, are as `matcher` says. No value means that it was absent."""
    if matcher is None:
        return not values
    if matcher is True:
        return bool(values)
    if isinstance(matcher, list):
        return any(matches(each, values) for each in matcher)
    if isinstance(matcher, dict):
        return all(_MATCHERS[name](wanted, values, matcher) for name, wanted in matcher.items() if name != "any_order")
    return bool(values) and (matcher in values or matcher == ", ".join(map(str, values)))


def is_within(wanted: float | list[float], count: float) -> bool:
    """Whether a number is exactly as wanted, or within [least, most]."""
    return wanted[0] <= count <= wanted[1] if isinstance(wanted, list) else count == wanted


def _all(wanted: list[str], values: Sequence[str], matcher: dict[str, Any]) -> bool:
    return sorted(wanted) == sorted(values) if matcher.get("any_order") else list(wanted) == list(values)


def _expires_in(wanted: list[float], values: Sequence[str], _: Any) -> bool:
    dates = [re.search(r"expires=([^;]+)", value, re.IGNORECASE) for value in values]
    return any(is_within(wanted, parsedate_to_datetime(each[1]).timestamp() - time.time()) for each in dates if each)


_MATCHERS = {
    "contains": lambda wanted, values, _: any(wanted in str(value) for value in values),
    "not_contains": lambda wanted, values, _: not any(wanted in str(value) for value in values),
    "matches": lambda wanted, values, _: any(re.search(wanted, str(value)) for value in values),
    "all": _all,
    "count": lambda wanted, values, _: is_within(wanted, len(values)),
    "expires_in": _expires_in,
}
