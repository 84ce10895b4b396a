"""Which names a listener and a route have in common. Compares texts and looks nothing up.

`*` at the beginning stands for one or more labels (gateway.networking.k8s.io/v1 Hostname). The empty name is every one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator


def normal(hostname: str) -> str:
    """The name as it is compared: lower case, without a final dot."""
    return hostname.lower().removesuffix(".")


def shared_name(one: str, other: str) -> str | None:
    """The widest name that both cover, None if there is none. Symmetric: the order of the two says nothing."""
    one, other = normal(one), normal(other)
    if covers(one, other):
        return other
    return one if covers(other, one) else None


def shared_names(listener: str, hostnames: Iterable[str]) -> tuple[str, ...]:
    """The names of a route on a listener, each once and sorted; without `hostnames` the listener's own.

    Empty if the two have no name in common.
    """
    asked = tuple(hostnames)
    if not asked:
        return (normal(listener),)
    found = {shared for each in asked if (shared := shared_name(listener, each)) is not None}
    return tuple(sorted(found))


def covers(wide: str, narrow: str) -> bool:
    """Whether every name that `narrow` stands for is one of `wide`. Both are `normal`."""
    if not wide or wide == narrow:
        return True
    return wide.startswith("*.") and bool(narrow) and narrow.removeprefix("*").endswith(wide[1:]) and narrow != wide[2:]


def nearness(hostnames: Collection[str], name: str) -> int:
    """How much the hostnames of a route say of a name that it has on a listener: the letters of the longest that covers
    it, without a wildcard. Of two routes the one that says more counts first (HTTPRouteSpec.hostnames).

    All are `normal`. A set of thousands costs no more than the labels of the name.
    """
    return next((len(each.removeprefix("*")) for each in widening(name) if each in hostnames), 0)


def widening(name: str) -> Iterator[str]:
    """A name and all that cover it, the nearest first: as many as it has labels, and two. It is `normal`."""
    yield name
    rest = name.removeprefix("*.")
    while "." in rest:
        rest = rest.partition(".")[2]
        yield f"*.{rest}"
    if name:
        yield ""
