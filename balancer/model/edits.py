"""Edits of responses in the model: what a route changes about the heads of its responses, one struct for each kind."""

from __future__ import annotations

import msgspec

from balancer.model.cors import CorsPolicy
from balancer.model.relocation import RewriteCookies, RewriteLocation
from balancer.model.scripts import OrderedEdits


class SetFields(msgspec.Struct, frozen=True, omit_defaults=True, gc=False, tag="set_fields"):
    """Gives every response these fields, name and value (ingress-nginx: custom-headers).

    Each replaces the endpoint's fields of the same name. `secure_only`: only responses over https get them.
    """

    fields: tuple[tuple[str, str], ...]
    secure_only: bool = False


class EditFields(msgspec.Struct, frozen=True, omit_defaults=True, gc=False, tag="edit_fields"):
    """Edits fields of responses: those in `set` replace others of their names, those in `add` come beside them.

    Fields named in `remove`, in lower case, are taken away. A name occurs in one of the three only.
    """

    set: tuple[tuple[str, str], ...] = ()
    add: tuple[tuple[str, str], ...] = ()
    remove: tuple[str, ...] = ()


class RequestEdit(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """Edits fields of requests on their way to endpoints, as `EditFields` does those of responses.

    It edits what the endpoint would get, so also what the proxy itself says. No name frames a message or belongs to one
    connection, and none is Host.
    """

    set: tuple[tuple[str, str], ...] = ()
    add: tuple[tuple[str, str], ...] = ()
    remove: tuple[str, ...] = ()


class CorsFields(msgspec.Struct, frozen=True, omit_defaults=True, gc=False, tag="cors_fields"):
    """Tells browsers which pages of other origins may read the responses (ingress-nginx: enable-cors).

    `origins` are origins such as `https://shop.test:8080`, `https://*.shop.test` (one label in place of the star) and
    `null`; `*` alone is everybody, and no origins are nobody. A response for an allowed origin gets the field
    Access-Control-Allow-Origin and `fields`, name and value.
    """

    origins: tuple[str, ...]
    fields: tuple[tuple[str, str], ...] = ()


ResponseRule = SetFields | EditFields | OrderedEdits | CorsFields | CorsPolicy | RewriteLocation | RewriteCookies
"""Every kind of response edit that a route may have."""
