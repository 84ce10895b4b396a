"""What an option is: where it may be set, how its value is read, and which field the value fills.

Responsible for the shape of the rows of the table, and for laying the values of one source over those of another. It
must not know any option.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum
from functools import partial
from typing import Any, TypeVar

import msgspec

from ingress.findings import Severity
from ingress.settings.unsupported import Closes, Loss
from ingress.settings.values import go_boolean

NGINX_PREFIX = "nginx.ingress.kubernetes.io/"
"""The prefix of the annotations that ingress-nginx has as well."""

OWN_PREFIX = "zonal-ingress.io/"
"""The prefix of the annotations that only zonal has."""

_Settings = TypeVar("_Settings", bound=msgspec.Struct)


class OptionSource(Enum):
    """The kind of object in which an option may be set."""

    CONFIGMAP = "ConfigMap"
    SERVICE = "Service"
    INGRESS = "Ingress"


CLUSTER = frozenset({OptionSource.CONFIGMAP})
ROUTE = frozenset({OptionSource.CONFIGMAP, OptionSource.INGRESS})
BACKEND = frozenset({OptionSource.CONFIGMAP, OptionSource.SERVICE, OptionSource.INGRESS})
INGRESS = frozenset({OptionSource.INGRESS})


class Option(msgspec.Struct, frozen=True, kw_only=True):
    """One row of the table.

    `name` is the ConfigMap key, and with `prefix` the annotation. `grammar` raises `InvalidValue` for a text that it
    does not take. `fills` is a struct and its field; None: the value is read and has no effect. `default` is the
    text that stands for the default of that field. An annotation of an Ingress with a number above `most`
    counts as `most`. `if_invalid` says what an invalid value means for requests, and what it closes.

    `doc` is the meaning for docs/settings.md, and `doc_on_ingress` is what differs where an Ingress sets the option.
    """

    name: str
    sources: frozenset[OptionSource]
    fills: tuple[type[msgspec.Struct], str] | None
    grammar: Callable[[str], Any]
    doc: str
    default: str = ""
    prefix: str = NGINX_PREFIX
    most: float | None = None
    if_invalid: Loss = Loss(Severity.DEGRADED, "the option has its default")
    doc_on_ingress: str = ""

    @property
    def annotation(self) -> str:
        """The name as an annotation."""
        return self.prefix + self.name

    @property
    def closes(self) -> bool:
        """Whether an invalid value closes paths, because the default would protect less."""
        return self.if_invalid.closes is not Closes.NOTHING


cluster_option = partial(Option, sources=CLUSTER)
"""An option that only the operator sets."""
route_option = partial(Option, sources=ROUTE)
"""An option that the operator sets for all Ingresses, and each Ingress for itself."""
backend_option = partial(Option, sources=BACKEND, prefix=OWN_PREFIX)
"""An option of ours about a backend, which its Service may set as well."""
ingress_option = partial(Option, sources=INGRESS)
"""An option that an Ingress sets for itself."""
cluster_switch = partial(Option, sources=CLUSTER, grammar=go_boolean, default="false")
"""An option of the operator that is true or false, as ingress-nginx writes that."""
route_switch = partial(Option, sources=ROUTE, grammar=go_boolean, default="false")
"""A switch that the operator sets for all Ingresses, and each Ingress for itself."""
ingress_switch = partial(Option, sources=INGRESS, grammar=go_boolean)
"""A switch that an Ingress sets for itself."""


class Overrides(msgspec.Struct, frozen=True, gc=False):
    """The values that one source sets: struct, field, value."""

    values: Mapping[type[msgspec.Struct], Mapping[str, Any]] = {}

    def over(self, settings: _Settings) -> _Settings:
        """`settings` with the fields that this source sets."""
        fields = self.values.get(type(settings))
        return msgspec.structs.replace(settings, **fields) if fields else settings

    def throughout(self, settings: _Settings) -> _Settings:
        """`settings` with what this source sets, and so each struct that is a field of it."""
        fields = ((name, getattr(settings, name)) for name in settings.__struct_fields__)
        parts = {name: self.over(part) for name, part in fields if isinstance(part, msgspec.Struct)}
        return msgspec.structs.replace(self.over(settings), **parts)

    def of(self, struct: type[msgspec.Struct]) -> Mapping[str, Any]:
        """The fields of `struct` that this source sets, with their values."""
        return self.values.get(struct, {})
