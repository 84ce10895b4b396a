"""A collector of spans on loopback, which speaks OTLP over HTTP and answers as the test says."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from aiohttp import web
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span


class OtlpCollector:
    """Keeps the spans that it takes. It answers with `status`, and only while `open` is set."""

    def __init__(self) -> None:
        self.port = 0
        self.status = 200
        self.open = asyncio.Event()
        self.open.set()
        self.requests = 0
        self.largest = 0
        self.spans: list[Span] = []
        self.resource: dict[str, str] = {}

    async def answer(self, request: web.BaseRequest) -> web.StreamResponse:
        message = ExportTraceServiceRequest.FromString(await request.read())
        self.requests += 1
        await self.open.wait()
        if self.status == 200:
            for group in message.resource_spans:
                self.resource = {each.key: each.value.string_value for each in group.resource.attributes}
                spans = [span for scope in group.scope_spans for span in scope.spans]
                self.largest = max(self.largest, len(spans))
                self.spans += spans
        return web.Response(status=self.status)


def attributes(span: Span) -> dict[str, str | int]:
    """The attributes of a span, texts and numbers."""
    return {
        each.key: each.value.string_value if each.value.HasField("string_value") else each.value.int_value
        for each in span.attributes
    }


@asynccontextmanager
async def collecting() -> AsyncIterator[OtlpCollector]:
    """A collector that listens."""
    collector = OtlpCollector()
    runner = web.ServerRunner(web.Server(collector.answer), shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    collector.port = runner.addresses[0][1]
    try:
        yield collector
    finally:
        collector.open.set()
        await runner.cleanup()
