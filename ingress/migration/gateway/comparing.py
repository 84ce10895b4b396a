"""Asks two models about the same requests, and lists what they answer differently.

The requests are those of every host and path, and of their neighbours. Asks the code that serves; opens no socket.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from balancer.errors import Refusal
from balancer.explain.arriving import entry_point_of
from balancer.explain.asking import BadQuestion, RefusedRequest, question_of
from balancer.explain.explaining import explain, refused
from balancer.http1.heads import RequestHeadReader
from balancer.live import LiveTable
from balancer.model.gates import protecting
from balancer.model.publication import Publication, RoutingModel

_LITERAL: Final = re.compile(r"[A-Za-z0-9/._~%-]*")


class Probe(NamedTuple):
    """A request that both are asked about: its URL and header fields."""

    url: str
    fields: tuple[str, ...] = ()

    def __str__(self) -> str:
        return " ".join((self.url, *(f"({each})" for each in self.fields)))


class ModelAnswer(NamedTuple):
    """What becomes of a request. Missing values are None. `guards` are the kinds of gates that may refuse it."""

    status: int | None
    location: str | None
    service: str | None
    target: str | None
    guards: tuple[str, ...]

    def __str__(self) -> str:
        if self.status is not None:
            return f"{self.status} to {self.location}" if self.location else str(self.status)
        rewritten = f" as {self.target}" if self.target else ""
        guarded = f", guarded by {', '.join(self.guards)}" if self.guards else ""
        return f"Service {self.service}{rewritten}{guarded}"


class AskedModel:
    """A model that answers questions."""

    __slots__ = ("_live", "_model", "_read")

    def __init__(self, model: RoutingModel) -> None:
        self._model = model
        self._live = LiveTable(lambda below: 0)
        self._live.swap(Publication(generation=1, model=model))
        self._read = RequestHeadReader(model.proxy).read

    def answer(self, probe: Probe) -> ModelAnswer | None:
        """What becomes of a request; None: no client can send it."""
        view = self._live.view
        try:
            question = question_of(probe.url, probe.fields, read=self._read)
            told = explain(question, view, now=0.0, live=False).explanation
        except RefusedRequest as problem:
            told = refused(problem, self._model.own_zone).explanation
            return ModelAnswer(told.status, told.location, None, None, ())
        except BadQuestion:
            return None
        if told.status is not None:
            # ingress-nginx leaves out the final slash of a path in redirects to https.
            return ModelAnswer(told.status, (told.location or "").rstrip("/") or None, None, None, ())
        request = question.request
        guards: tuple[str, ...] = ()
        try:
            routes = view.configurations[entry_point_of(question, view).key]
            match = routes.match(request.host_name, request.path, request.target, request)
            if match is not None:
                guards = tuple(sorted({type(each).__name__ for each in protecting(match.served.route.all_gates)}))
        except Refusal:
            guards = ()
        return ModelAnswer(None, None, told.service, told.target, guards)


def differences(before: RoutingModel, after: RoutingModel, probes: Iterable[Probe]) -> Iterator[str]:
    """What the two answer differently, each as a line."""
    old, new = AskedModel(before), AskedModel(after)
    for probe in dict.fromkeys(probes):
        as_before, as_after = old.answer(probe), new.answer(probe)
        if as_before != as_after:
            yield f"{probe}: {as_before}, and now {as_after}"


def probes_of(
    paths: Mapping[str, Iterable[str]],
    fields: Mapping[tuple[str, str], Iterable[str]],
    *,
    secure: Iterable[str],
    calls: Iterable[str],
) -> Iterator[Probe]:
    """The requests about the paths of each host. `fields` are those that choose at a host and path.

    `secure` are the hosts with certificates, `calls` those that are asked as clients of gRPC ask.

    A host with a star stands for a name with one label more, and one with
    two; the empty host for a name that nobody has.
    """
    certified, called = frozenset(secure), frozenset(calls)
    for host, texts in sorted(paths.items()):
        schemes = ("http", "https") if host in certified else ("http",)
        own = ("content-type: application/grpc",) if host in called else ()
        for name in _names(host):
            for text in sorted({"/", "/nobody/has-this", *texts}):
                for path in _neighbours(_example(text)):
                    for scheme in schemes:
                        yield Probe(f"{scheme}://{name}{path}", own)
                        for each in fields.get((host, text), ()):
                            yield Probe(f"{scheme}://{name}{path}", (*own, each))


def _names(host: str) -> tuple[str, ...]:
    if host.startswith("*."):
        return f"a{host[1:]}", f"a.b{host[1:]}"
    return (host or "nobody.example",)


def _example(text: str) -> str:
    """A path that begins as an expression does; of a plain path, the path."""
    found = _LITERAL.match(text)
    return (found[0] if found is not None else "") or "/"


def _neighbours(path: str) -> tuple[str, ...]:
    bare = path.rstrip("/")
    return tuple(dict.fromkeys((path, f"{bare}/", f"{bare}/more", f"{bare}x", path.upper(), f"{path}?q=1")))
