"""What the control plane knows about a question (`/debug/explain`), put together for the worker that answers it.

Responsible for finding the routes that a question is about in the newest model. It must not know how a worker is asked.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from balancer.asking import question_of
from balancer.model import Publication, RoutingModel
from balancer.routing import RouteTable, compile_routes
from balancer.workers.background import RecordedBackground, record
from ingress.evidence import Evidence

_NOTHING = Publication(generation=0, model=RoutingModel())


class Questions:
    """Compiles a model when somebody asks about it, and once: most models are replaced before anybody does."""

    __slots__ = ("_compiled", "_routes")

    def __init__(self) -> None:
        self._compiled = _NOTHING
        self._routes = compile_routes(_NOTHING.model)

    async def background(
        self, url: str, fields: Sequence[str], *, client: str, publication: Publication | None, evidence: Evidence
    ) -> RecordedBackground:
        """What `evidence` tells about a request to `publication` (None: there is none yet). Raises `BadQuestion`."""
        publication = publication or _NOTHING
        question = question_of(url, fields, settings=publication.model.proxy, client=client)
        return record(question, await self._routes_of(publication), background=evidence)

    async def _routes_of(self, publication: Publication) -> RouteTable:
        if publication.generation != self._compiled.generation:
            # A large model takes a good part of a second: too long for the event loop.
            routes = await asyncio.to_thread(compile_routes, publication.model, self._routes)
            self._compiled, self._routes = publication, routes
            return routes
        return self._routes
