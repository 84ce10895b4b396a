"""Judges what was seen of one request by what a case expects of it. It plays nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from tests.features.gateway.cases import Json
from tests.features.ingress_nginx.clients import Seen
from tests.features.ingress_nginx.endpoints import Got
from tests.features.ingress_nginx.matching import is_within, matches

_USUAL = {"http": 80, "https": 443}


class Turn:
    """One request of a case, which may have been sent several times, and what endpoints got of it."""

    def __init__(
        self, seen: Sequence[Seen], got: Mapping[str, Sequence[Got]], zones: Mapping[tuple[str, str], str]
    ) -> None:
        self.seen, self.zones = seen, zones
        self.got = [each for one in seen for each in got.get(one.probe, ())]
        self.kept: tuple[str, str] = ("", "")

    @property
    def last(self) -> Seen:
        return self.seen[-1]

    def server(self, seen: Seen) -> str | None:
        """The Service, as `namespace/name`, that answered."""
        found = self.answering(seen)
        return None if found is None else f"{found.namespace}/{found.service}"

    def answering(self, seen: Seen) -> Got | None:
        """What the endpoint that answered got."""
        service, index = seen.served_by
        found = [each for each in self.got if (each.service, each.index) == (service, index)]
        return found[-1] if found else None


def problems_of(expected: Json, turn: Turn) -> list[str]:
    """What is not as `expected`; empty if everything is."""
    unknown = expected.keys() - _CHECKS.keys() - _PASSED_OVER
    found = [text for name, wanted in expected.items() if name in _CHECKS and (text := _CHECKS[name](wanted, turn))]
    return [*found, *(f"unknown expectation {name}" for name in sorted(unknown))]


_PASSED_OVER = frozenset(("pause", "echo"))
"""What says how to ask, and what no endpoint of the runner does."""


def _status(wanted: Any, turn: Turn) -> str:
    allowed = wanted if isinstance(wanted, list) else [wanted]
    bad = [f"{seen.status} {seen.failure}" for seen in turn.seen if seen.status not in allowed]
    return f"status {bad[:3]}, not {wanted}" if bad else ""


def _backend(wanted: str | None, turn: Turn) -> str:
    servers = {turn.server(seen) for seen in turn.seen}
    return "" if servers == {wanted} else f"served by {servers}, not {wanted}"


def _counted(wanted: Json, counts: Counter[str]) -> bool:
    return set(counts) <= set(wanted) and all(is_within(count, counts[name]) for name, count in wanted.items())


def _backends(wanted: Json, turn: Turn) -> str:
    counts = Counter(name for seen in turn.seen if (name := turn.server(seen)) is not None)
    return "" if _counted(wanted, counts) else f"backends {dict(counts)}, not {wanted}"


def _statuses(wanted: Json, turn: Turn) -> str:
    counts = Counter(str(seen.status) for seen in turn.seen)
    return "" if _counted(wanted, counts) else f"statuses {dict(counts)}, not {wanted}"


def _call_status(seen: Seen) -> str:
    return next((value for name, value in seen.headers if name == "grpc-status"), "")


def _grpc_status(wanted: int | None, turn: Turn) -> str:
    bad = [
        f"{_call_status(seen)!r} ({seen.status} {seen.failure})"
        for seen in turn.seen
        if _call_status(seen) != str(wanted)
    ]
    return f"grpc-status {bad[:3]}, not {wanted}" if bad and wanted is not None else ""


def _grpc_statuses(wanted: Json, turn: Turn) -> str:
    counts = Counter(map(_call_status, turn.seen))
    return "" if _counted(wanted, counts) else f"grpc statuses {dict(counts)}, not {wanted}"


def _zones(wanted: Json, turn: Turn) -> str:
    found = (turn.answering(seen) for seen in turn.seen)
    names = [(f"{each.namespace}/{each.service}", each.index) for each in found if each is not None]
    counts = Counter(turn.zones.get(each, "") for each in names)
    return "" if _counted(wanted, counts) else f"zones {dict(counts)}, not {wanted}"


def _headers(wanted: Json, turn: Turn) -> str:
    present = {name: [value for each, value in turn.last.headers if each == name] for name in wanted}
    bad = {name: present[name] for name in wanted if not matches(wanted[name], present[name])}
    return f"headers {bad}, not { ({name: wanted[name] for name in bad}) }" if bad else ""


def _location(wanted: str, turn: Turn) -> str:
    found = next((value for name, value in turn.last.headers if name == "location"), "")
    return "" if _whole(found) == _whole(wanted) else f"location {found!r}, not {wanted}"


def _whole(url: str) -> tuple[str, str | None, int | None, str, str]:
    parts = urlsplit(url)
    return parts.scheme, parts.hostname, parts.port or _USUAL.get(parts.scheme), parts.path, parts.query


def _received(wanted: Json, turn: Turn) -> str:
    for seen in turn.seen:
        got = turn.answering(seen)
        if got is None:
            return "no endpoint answered"
        if problem := received_problem(wanted, got):
            return problem
    return ""


def received_problem(wanted: Json, got: Got) -> str:
    """What an endpoint should not have got."""
    bad = []
    for name, matcher in wanted.items():
        if name == "headers":
            for field, value in matcher.items():
                meant = got.service if value == "{backend}" else value
                if not matches(meant, [got.headers[field]] if field in got.headers else []):
                    bad.append(f"{field}: {got.headers.get(field)!r}, not {value!r}")
        elif name == "tls" and isinstance(matcher, dict):
            tls = got.tls or {}
            bad += [f"tls {each}: {tls.get(each)!r}" for each, value in matcher.items() if tls.get(each) != value]
        elif name == "port":
            bad += [] if got.index.startswith(f"{matcher}-") else [f"port of {got.index}, not {matcher}"]
        else:
            value = getattr(got, name)
            if not matches(matcher, [] if value is None else [value]):
                bad.append(f"{name}: {value!r}, not {matcher!r}")
    return f"received {bad}" if bad else ""


def _mirrored(wanted: Sequence[Json], turn: Turn) -> str:
    for each in wanted:
        copies = [got for got in turn.got if f"{got.namespace}/{got.service}" == each["backend"]]
        if not is_within(each["count"], len(copies)):
            return f"{len(copies)} copies at {each['backend']}, not {each['count']}"
        problems = [received_problem(each.get("received", {}), got) for got in copies]
        if any(problems):
            return f"copy {problems}"
        counts = Counter(turn.zones.get((each["backend"], got.index), "") for got in copies)
        if "zones" in each and not _counted(each["zones"], counts):
            return f"copies in zones {dict(counts)}"
    return ""


def _seen(wanted: Json, turn: Turn) -> str:
    counts = Counter(f"{each.namespace}/{each.service}" for each in turn.got)
    bad = {name: counts[name] for name, count in wanted.items() if not is_within(count, counts[name])}
    return f"requests seen {bad}, not {wanted}" if bad else ""


def _refused(_: bool, turn: Turn) -> str:
    answered = [seen.status for seen in turn.seen if seen.status]
    return f"answered {answered}, {len(turn.got)} requests at endpoints" if answered or turn.got else ""


def _refused_count(wanted: Any, turn: Turn) -> str:
    count = sum(not seen.status for seen in turn.seen)
    return "" if is_within(wanted, count) else f"{count} refused, not {wanted}"


def _unserved(_: bool, turn: Turn) -> str:
    bad = [seen.status for seen in turn.seen if seen.status and seen.status < 400]
    return f"served {bad}" if bad or turn.got else ""


def _took(wanted: list[float], turn: Turn) -> str:
    seconds = turn.last.ended - turn.seen[0].started
    return "" if is_within(wanted, seconds) else f"took {seconds:.2f} s, not {wanted}"


def _closed(wanted: Any, turn: Turn) -> str:
    return "" if turn.last.closed == wanted else f"closed {turn.last.closed}, not {wanted}"


def _cert(wanted: Json, turn: Turn) -> str:
    return "" if wanted["san"] in turn.last.sans else f"certificate for {turn.last.sans}, not {wanted}"


def _alpn(wanted: Any, turn: Turn) -> str:
    found = turn.last.tls.get("alpn")
    return "" if matches(wanted, [] if found is None else [found]) else f"alpn {found}, not {wanted}"


def _size(wanted: int, turn: Turn) -> str:
    return "" if is_within(wanted, len(turn.last.content)) else f"body of {len(turn.last.content)} bytes, not {wanted}"


def _same_endpoint(_: bool, turn: Turn) -> str:
    others = {seen.served_by for seen in turn.seen} - {turn.kept}
    return f"endpoints {others} beside {turn.kept}" if others else ""


def _open_for(_: float, turn: Turn) -> str:
    return "the tunnel was closed" if turn.last.closed == "tunnel" else ""


_CHECKS: dict[str, Callable[[Any, Turn], str]] = {
    "status": _status,
    "backend": _backend,
    "backends": _backends,
    "statuses": _statuses,
    "grpc_status": _grpc_status,
    "grpc_statuses": _grpc_statuses,
    "zones": _zones,
    "headers": _headers,
    "location": _location,
    "received": _received,
    "mirrored": _mirrored,
    "seen": _seen,
    "refused": _refused,
    "refused_count": _refused_count,
    "unserved": _unserved,
    "took": _took,
    "closed": _closed,
    "cert": _cert,
    "alpn": _alpn,
    "size": _size,
    "same_endpoint": _same_endpoint,
    "open_for": _open_for,
}
