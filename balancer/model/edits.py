"""Edits of responses in the model: what a route changes about the heads of its responses, one struct for each kind."""

from __future__ import annotations

import msgspec


class SetFields(msgspec.Struct, frozen=True, tag="set_fields"):
    """Gives every response these fields, name and value (ingress-nginx: custom-headers).

    Each replaces the endpoint's fields of the same name.
    """

    fields: tuple[tuple[str, str], ...]


ResponseRule = SetFields
"""Every kind of response edit that a route may have; a second kind makes this a union."""
