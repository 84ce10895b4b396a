"""Judges what was seen of one request by what the case expects of it. It plays nothing."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from ingress.findings import Finding
from tests.features.ingress_nginx.cases import Json
from tests.features.ingress_nginx.clients import Seen
from tests.features.ingress_nginx.endpoints import Got
from tests.features.ingress_nginx.matching import is_within, matches
from tests.features.ingress_nginx.stage import Stage

_POLL_SECONDS = 0.01
_REFUSED = (404, 503)


class Jar:
    """What a case remembers of an answer: its cookies, and the endpoint that gave it."""

    def __init__(self) -> None:
        self.cookies: dict[str, str] = {}
        self.served_by = ("", "")

    def take(self, seen: Seen) -> None:
        self.served_by = seen.served_by
        for name, value in seen.headers:
            if name == "set-cookie":
                cookie, _, text = value.partition(";")[0].partition("=")
                self.cookies[cookie.strip()] = text

    @property
    def header(self) -> str:
        return "; ".join(f"{name}={value}" for name, value in self.cookies.items())


class Turn:
    """One request of a case, which may have been sent several times."""

    def __init__(self, stage: Stage, namespace: str, request: Json, jar: Jar) -> None:
        self.stage, self.namespace, self.request, self.jar = stage, namespace, request, jar
        self.seen: list[Seen] = []

    @property
    def last(self) -> Seen:
        return self.seen[-1]

    def got(self) -> list[Got]:
        """Everything that endpoints of the case got of the request."""
        got = [each for seen in self.seen for each in self.stage.endpoints.got.get(seen.probe, ())]
        return [each for each in got if each.namespace == self.namespace]

    def answering(self) -> Got | None:
        """What the endpoint that answered got."""
        found = [each for each in self.got() if (each.service, each.index) == self.last.served_by]
        return found[-1] if found else None

    def finding(self, text: str) -> bool:
        """Whether a finding about the objects of the case, or about the ConfigMap, names `text`."""
        return any(
            text in "\n".join(str(value) for value in msgspec.structs.astuple(finding))
            for finding in self.stage.findings
            if self._concerns(finding)
        )

    def _concerns(self, finding: Finding) -> bool:
        return finding.namespace == self.namespace or finding.kind == "ConfigMap"


async def problems_of(expected: Json, turn: Turn) -> list[str]:
    """What is not as `expected`, except what the log must hold; empty if everything is."""
    if "any_of" in expected:
        problems = [await problems_of(each, turn) for each in expected["any_of"]]
        return [] if [] in problems else [f"none of: {problems}"]
    found = [text for name, wanted in expected.items() if name in _CHECKS and (text := _CHECKS[name](wanted, turn))]
    if len(turn.seen) > 1 and not expected.keys() & {"status", "statuses"}:
        found += _statuses({"200": len(turn.seen)}, turn)
    for each in expected.get("others", ()):
        found += await _others(each, turn)
    unknown = expected.keys() - _CHECKS.keys() - {"log", "others"}
    return [*found, *(f"unknown expectation {name}" for name in sorted(unknown))]


def _resolved(value: Any, turn: Turn) -> Any:
    """`value` with the placeholders of ports filled in."""
    if isinstance(value, str):
        for name, port in turn.stage.ports.items():
            value = value.replace(f"{{{name}}}", str(port))
        return value
    if isinstance(value, list):
        return [_resolved(each, turn) for each in value]
    return {name: _resolved(each, turn) for name, each in value.items()} if isinstance(value, dict) else value


def _status(wanted: Any, turn: Turn) -> str:
    allowed = wanted if isinstance(wanted, list) else [wanted]
    bad = [f"{seen.status} {seen.failure}" for seen in turn.seen if seen.status not in allowed]
    return f"status {bad}, not {wanted}" if bad else ""


def _service(wanted: str | None, turn: Turn) -> str:
    services = {seen.served_by[0] or None for seen in turn.seen}
    return "" if services == {wanted} else f"served by {services}, not {wanted}"


def _headers(wanted: Json, turn: Turn) -> str:
    present = {name: [value for each, value in turn.last.headers if each == name] for name in wanted}
    bad = {name: present[name] for name in wanted if not matches(_resolved(wanted[name], turn), present[name])}
    return f"headers {bad}, not { ({name: wanted[name] for name in bad}) }" if bad else ""


def _body(wanted: Json, turn: Turn) -> str:
    body = turn.last.content.decode("latin-1")
    return "" if matches(_resolved(wanted, turn), [body]) else f"body {body[:200]!r}, not {wanted}"


def _size(wanted: int, turn: Turn) -> str:
    return "" if is_within(wanted, len(turn.last.content)) else f"body of {len(turn.last.content)} bytes, not {wanted}"


def _received(wanted: Json, turn: Turn) -> str:
    got = turn.answering()
    return "no endpoint answered" if got is None else _received_problem(_resolved(wanted, turn), got)


def _received_problem(wanted: Json, got: Got) -> str:
    bad = []
    for name, matcher in wanted.items():
        if name == "headers":
            bad += [
                f"{each}: {got.headers.get(each)!r}, not {value!r}"
                for each, value in matcher.items()
                if not matches(value, [got.headers[each]] if each in got.headers else [])
            ]
        elif name == "tls" and isinstance(matcher, dict):
            tls = got.tls or {}
            bad += [
                f"tls {each}: {tls.get(each)!r}, not {value!r}"
                for each, value in matcher.items()
                if got.tls is None or not matches(value, _present(tls.get(each)))
            ]
        elif not matches(matcher, _present(getattr(got, name))):
            bad.append(f"{name}: {getattr(got, name)!r}, not {matcher!r}")
    return f"received {bad}" if bad else ""


def _present(value: Any) -> list[Any]:
    return [] if value is None else [value]


def _seen(wanted: Json, turn: Turn) -> str:
    counts = Counter(each.service for each in turn.got())
    bad = {name: counts[name] for name, count in wanted.items() if not is_within(count, counts[name])}
    return f"requests seen {bad}, not {wanted}" if bad else ""


def _counted(wanted: Json, counts: Counter[str]) -> bool:
    return set(counts) <= set(wanted) and all(is_within(count, counts[name]) for name, count in wanted.items())


def _statuses(wanted: Json, turn: Turn) -> str:
    counts = Counter(str(seen.status) for seen in turn.seen)
    return "" if _counted(wanted, counts) else f"statuses {dict(counts)}, not {wanted}"


def _services(wanted: Json, turn: Turn) -> str:
    counts = Counter(seen.served_by[0] for seen in turn.seen)
    return "" if _counted(wanted, counts) else f"services {dict(counts)}, not {wanted}"


def _endpoints(wanted: Any, turn: Turn) -> str:
    counts = Counter(seen.served_by[1] for seen in turn.seen)
    if isinstance(wanted, dict):
        is_right = all(is_within(wanted["each"], count) for count in counts.values())
    elif isinstance(wanted, list) and isinstance(wanted[0], str):
        is_right = set(counts) == set(wanted)
    else:
        is_right = is_within(wanted, len(counts))
    return "" if is_right else f"endpoints {dict(counts)}, not {wanted}"


def _same_endpoint(wanted: bool, turn: Turn) -> str:
    others = {seen.served_by for seen in turn.seen} - {turn.jar.served_by}
    return "" if (not others) == wanted else f"endpoints {others} beside {turn.jar.served_by}"


def _took(wanted: list[float], turn: Turn) -> str:
    seconds = turn.last.ended - turn.seen[0].started
    return "" if is_within(wanted, seconds) else f"took {seconds:.2f} s, not {wanted}"


def _closed(wanted: bool | str, turn: Turn) -> str:
    return "" if turn.last.closed == wanted else f"closed {turn.last.closed}, not {wanted}"


def _reads(wanted: Json, turn: Turn) -> str:
    started, got = turn.last.started, turn.answering()
    first = got.at - started if got is not None else float("inf")
    body = turn.last.body_at - started if turn.last.body_at is not None else float("inf")
    bad = {
        "first_within": first > wanted.get("first_within", float("inf")),
        "first_after": first < wanted.get("first_after", 0),
        "body_within": body > wanted.get("body_within", float("inf")),
    }
    return f"endpoint read after {first:.2f} s, body came after {body:.2f} s: {wanted}" if any(bad.values()) else ""


def _cert(wanted: Json, turn: Turn) -> str:
    names = turn.last.sans
    is_right = wanted.get("san", next(iter(names), "")) in [*names, ""] and wanted.get("not_san") not in names
    return "" if is_right else f"certificate for {names}, not {wanted}"


def _of_connection(name: str) -> Callable[[Any, Turn], str]:
    def check(wanted: Any, turn: Turn) -> str:
        value = turn.last.tls.get(name)
        return "" if matches(wanted, _present(value)) else f"{name} {value}, not {wanted}"

    return check


def _finding(wanted: str, turn: Turn) -> str:
    return "" if turn.finding(wanted) else f"no finding about {wanted}"


def _refused(wanted: str, turn: Turn) -> str:
    if turn.last.status not in _REFUSED or turn.got():
        return f"not refused: {turn.last.status} {turn.last.failure}, {len(turn.got())} requests at endpoints"
    return _finding(wanted, turn)


async def _others(wanted: Json, turn: Turn) -> Sequence[str]:
    """Judge what another Service got. It may come up to `wait` seconds later."""
    least = wanted.get("count", 1)
    deadline = time.monotonic() + wanted.get("wait", 0)
    while (got := [each for each in turn.got() if each.service == wanted["service"]]) is not None:
        if len(got) >= least or time.monotonic() >= deadline:
            break
        await asyncio.sleep(_POLL_SECONDS)
    if "count" in wanted and not is_within(wanted["count"], len(got)):
        return [f"{wanted['service']} got {len(got)} requests, not {wanted['count']}"]
    if "received" not in wanted:
        return []
    if not got:
        return [f"{wanted['service']} got nothing"]
    problem = _received_problem(_resolved(wanted["received"], turn), got[-1])
    return [f"{wanted['service']} {problem}"] if problem else []


_CHECKS: dict[str, Callable[[Any, Turn], str]] = {
    "status": _status,
    "service": _service,
    "headers": _headers,
    "body": _body,
    "size": _size,
    "received": _received,
    "seen": _seen,
    "statuses": _statuses,
    "services": _services,
    "endpoints": _endpoints,
    "same_endpoint": _same_endpoint,
    "took": _took,
    "closed": _closed,
    "reads": _reads,
    "cert": _cert,
    "tls_version": _of_connection("tls_version"),
    "cipher": _of_connection("cipher"),
    "alpn": _of_connection("alpn"),
    "finding": _finding,
    "refused": _refused,
}
