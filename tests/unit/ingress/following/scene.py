"""A controller between a source that says what a test wants, and whoever is told."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncGenerator, Callable

import trustme

from balancer.model.publication import Publication
from ingress.findings import Finding
from ingress.following.controller import Controller, ModelPatience
from ingress.following.publishing import Published
from ingress.objects.kinds import Kind, KubernetesObject, Secret
from ingress.settings.context import TranslationContext
from ingress.sources.contract import Wanted
from ingress.sources.events import Event, Replaced
from tests.unit.ingress.cluster import (
    config_map,
    endpoint_slice,
    ingress_class,
    service,
    tls_secret,
)


class Scene:
    """A controller, the source it follows, and what came out."""

    def __init__(
        self,
        *events: Event,
        patience: ModelPatience = ModelPatience(),  # noqa: B008 (immutable)
        judged_most: int = 256,
        context: TranslationContext = TranslationContext(),  # noqa: B008 (immutable)
        in_use: Callable[[], float] = lambda: math.inf,
    ) -> None:
        self.served: list[Publication] = []
        self.wanted: list[Wanted] = []
        self.settled = True
        self.source: asyncio.Queue[Event | Exception | None] = asyncio.Queue()
        for event in events:
            self.tell(event)
        self.published = Published(self.served.append)
        self.told: list[tuple[Finding, ...]] = []
        self.controller = Controller(
            self,
            context=context,
            published=self.published,
            on_findings=self.told.append,
            patience=patience,
            judged_most=judged_most,
            in_use=in_use,
        )

    def tell(self, event: Event | Exception | None) -> None:
        """What the source says next; None: no more."""
        self.source.put_nowait(event)

    async def run(self) -> None:
        """Start, and follow the source to its end."""
        self.tell(None)
        await self.controller.start()
        async with asyncio.timeout(30):
            await self.controller.run()

    def want(self, wanted: Wanted) -> bool:
        """The source's side: what the controller wants, and whether that has been delivered."""
        self.wanted.append(wanted)
        return self.settled

    async def events(self) -> AsyncGenerator[Event, None]:
        """The source's side."""
        while (event := await self.source.get()) is not None:
            if isinstance(event, Exception):
                raise event
            yield event


def lists(*objects: KubernetesObject) -> list[Replaced]:
    """The full list of every kind."""
    everything = (ingress_class(), config_map(), service(), endpoint_slice(), *objects)
    return [Replaced(kind, tuple(item for item in everything if item.kind is kind)) for kind in Kind]


def certificate(name: str, host: str) -> Secret:
    issued = trustme.CA(key_type=trustme.KeyType.ECDSA).issue_cert(host, key_type=trustme.KeyType.ECDSA)
    return tls_secret(name, b"".join(part.bytes() for part in issued.cert_chain_pems), issued.private_key_pem.bytes())


def hosts(publication: Publication) -> list[str]:
    return [host.name for host in publication.model.hosts]


async def start_and_run(scene: Scene) -> None:
    await scene.controller.start()
    await scene.controller.run()
