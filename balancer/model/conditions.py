"""What a request must show beside its host and path, so that a route takes it."""

from __future__ import annotations

from typing import Annotated

import msgspec

from balancer.model.secrecy import SECRET


class ValueCondition(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """The value that a header field or a query parameter must have.

    `name` of a field is in lower case; that of a parameter is decoded, and its case counts. `value` must be equal, or,
    if `is_expression`, it is an expression in RE2's syntax that must be found in the value. Values are marked as
    secrets, because they may be what hides a route from the public.
    """

    name: str
    value: Annotated[str, SECRET]
    is_expression: bool = False


class Conditions(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """All of these must hold. An empty `method` is any method. Each name occurs once in `fields` and in `query`.

    A field that a request repeats has the values of all, with a comma and a space between them (RFC 9110 section 5.3).
    Of a parameter that a request repeats the first value counts.
    """

    method: str = ""
    fields: tuple[ValueCondition, ...] = ()
    query: tuple[ValueCondition, ...] = ()


ANY = Conditions()
"""Every request."""
