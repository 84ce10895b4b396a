"""Collects what the control plane knows about a question (`/debug/explain`), for the worker that answers it.

Finds the routes that a question is about in the newest model. Does not know how a worker is asked.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from balancer.explain.asking import question_of
from balancer.http1.heads import RequestHeadReader
from balancer.matching.routing import RouteTable, compile_routes
from balancer.model.publication import Publication, RoutingModel
from balancer.workers.background import RecordedBackground, record
from ingress.explain.evidence import Evidence

_NOTHING = Publication(generation=0, model=RoutingModel())


class Questions:
    """Compiles a model only when somebody asks about it, and once, because most models are replaced before."""

    __slots__ = ("_compiled", "_routes")

    def __init__(self) -> None:
        self._compiled = _NOTHING
        self._routes = compile_routes(_NOTHING.model)

    async def background(
        self, url: str, fields: Sequence[str], *, client: str, publication: Publication | None, evidence: Evidence
    ) -> RecordedBackground:
        """What `evidence` says about a request to `publication` (None: there is none yet). Raises `BadQuestion`."""
        publication = publication or _NOTHING
        question = question_of(url, fields, read=RequestHeadReader(publication.model.proxy).read, client=client)
        return record(question, await self._routes_of(publication), background=evidence)

    async def _routes_of(self, publication: Publication) -> RouteTable:
        if publication.generation != self._compiled.generation:
            # A large model takes a good part of a second, which is too long for the event loop.
            routes = await asyncio.to_thread(compile_routes, publication.model, self._routes)
            self._compiled, self._routes = publication, routes
            return routes
        return self._routes
