"""Says which names cover a host: exact names, wildcards and the empty name, which covers all. No I/O.

One rule for the hosts of routes, for listeners and for certificates. Names are text as in the model.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator, Mapping
from typing import Final

from balancer.model.route_configurations import Listener, Wildcards

LABEL: Final = re.compile(rb"[A-Za-z0-9_-]+")
"""What `*` stands for; real names contain `_`, although RFC 1123 forbids it."""

LABELS: Final = re.compile(rb"[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*")
"""What `*` stands for where it may be many labels."""

WILDCARD: Final = "*."

_NAMES_REMEMBERED: Final = 1024  # clients ask for few names, and may send any


def covering(name: str, names: Container[str], wildcards: Wildcards) -> Iterator[str]:
    """The names among `names` that cover everything that `name` covers, the most specific one first.

    `name` may be the name of one host, a wildcard or empty.
    """
    if name in names:
        yield name
    if not name:
        return
    labels = name.removeprefix(WILDCARD)
    if wildcards is Wildcards.ONE_LABEL:
        found = _one_label_less(name) if labels == name else ()
    else:
        found = _fewer_labels(labels) if labels == name or LABELS.fullmatch(labels.encode()) else ()
    for wildcard in found:
        if wildcard in names:
            yield wildcard
    if "" in names:
        yield ""


def _one_label_less(name: str) -> Iterator[str]:
    label, _, suffix = name.partition(".")
    if suffix and LABEL.fullmatch(label.encode()):
        yield WILDCARD + suffix


def _fewer_labels(name: str) -> Iterator[str]:
    first, _, suffix = name.partition(".")
    while suffix and LABEL.fullmatch(first.encode()):
        yield WILDCARD + suffix
        first, _, suffix = suffix.partition(".")


def server_name_of(name: str) -> str:
    """The name of a host that a client sent in its handshake, as names are compared: lower case, no trailing dot."""
    return name.lower().removesuffix(".")


class ListenerNames:
    """The listeners of one route configuration by their hostnames."""

    __slots__ = ("_by_hostname", "_found", "_wildcards")

    def __init__(self, listeners: Iterable[Listener], wildcards: Wildcards) -> None:
        """Takes the first of several `listeners` with the same hostname."""
        self._by_hostname: dict[str, Listener] = {}
        for listener in listeners:
            self._by_hostname.setdefault(listener.hostname, listener)
        self._wildcards = wildcards
        self._found: dict[str, Listener | None] = {}

    @property
    def by_hostname(self) -> Mapping[str, Listener]:
        """The listeners that count, by hostname."""
        return self._by_hostname

    @property
    def is_divided(self) -> bool:
        """Whether it depends on the host which listener a request belongs to."""
        return self._by_hostname.keys() != {""}

    def listener_of(self, name: str) -> Listener | None:
        """The most specific listener whose hostname covers `name`, which is as for `covering`."""
        try:
            return self._found[name]
        except KeyError:
            return self._remember(name)

    def _remember(self, name: str) -> Listener | None:
        hostname = next(covering(name, self._by_hostname, self._wildcards), None)
        found = None if hostname is None else self._by_hostname[hostname]
        if len(self._found) < _NAMES_REMEMBERED:
            self._found[name] = found
        return found
