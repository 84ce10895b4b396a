"""Servers of gRPC: one service of bytes with every kind of call, in this process or in one of its own.

As a program (`python -m tests.features.grpc.servers NAME`) it prints its port and then the id of each call that it
begins. SIGTERM ends it gracefully, with GOAWAY.
"""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import AsyncIterator, Callable
from typing import Any

import grpc

SERVICE = "shop.Echo"
_WORK_SECONDS = 0.02
DETAILS = "no such thing: 100 % öde"
_GRACE_SECONDS = 5.0
_CODES = {code.value[0]: code for code in grpc.StatusCode}
_OPTIONS = [("grpc.max_receive_message_length", 8 << 20), ("grpc.max_send_message_length", 8 << 20)]


def method(name: str) -> str:
    return f"/{SERVICE}/{name}"


class GrpcServer:
    """One endpoint of a Service. `begun` are the ids of calls, and `cancelled` those that their client took back.

    `running` are the chats under way, and `at_once` the most of them that ever were.
    """

    def __init__(self, service: str, zone: str | None = None, told: Callable[[str], None] | None = None) -> None:
        self.service, self.zone, self.port = service, zone, 0
        self.begun: list[str] = []
        self.cancelled: list[str] = []
        self.metadata: list[dict[str, Any]] = []
        self.at_once = self.running = 0
        self._told = told or (lambda _: None)
        self._server: Any = None

    async def start(self, credentials: grpc.ServerCredentials | None = None) -> None:
        self._server = server = grpc.aio.server(options=_OPTIONS)
        server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(SERVICE, self._handlers()),))
        if credentials is None:
            self.port = server.add_insecure_port("127.0.0.1:0")
        else:
            self.port = server.add_secure_port("127.0.0.1:0", credentials)
        await server.start()

    async def stop(self, grace_seconds: float | None = None) -> None:
        await self._server.stop(grace_seconds)

    def _handlers(self) -> dict[str, grpc.RpcMethodHandler]:
        return {
            "Unary": grpc.unary_unary_rpc_method_handler(self._unary),
            "Work": grpc.unary_unary_rpc_method_handler(self._work),
            "Fail": grpc.unary_unary_rpc_method_handler(self._fail),
            "Wait": grpc.unary_unary_rpc_method_handler(self._wait),
            "Expand": grpc.unary_stream_rpc_method_handler(self._expand),
            "Collect": grpc.stream_unary_rpc_method_handler(self._collect),
            "Chat": grpc.stream_stream_rpc_method_handler(self._chat),
        }

    def _begin(self, context: Any) -> str:
        metadata = dict(context.invocation_metadata())
        self.metadata.append(metadata)
        call = str(metadata.get("x-call", ""))
        self.begun.append(call)
        self._told(call)
        return call

    async def _unary(self, request: bytes, context: Any) -> bytes:
        self._begin(context)
        context.set_trailing_metadata((("x-server", str(self.port)),))
        return request

    async def _work(self, request: bytes, context: Any) -> bytes:
        self._begin(context)
        await asyncio.sleep(_WORK_SECONDS)
        return request

    async def _fail(self, request: bytes, context: Any) -> bytes:
        self._begin(context)
        await context.abort(_CODES[int(request)], DETAILS)
        raise AssertionError

    async def _wait(self, request: bytes, context: Any) -> bytes:
        call = self._begin(context)
        try:
            await asyncio.sleep(3600)  # until the call is taken back
        except asyncio.CancelledError:
            self.cancelled.append(call)
            raise
        return b""

    async def _expand(self, request: bytes, context: Any) -> AsyncIterator[bytes]:
        self._begin(context)
        for number in range(int(request)):
            yield b"%d" % number

    async def _collect(self, requests: AsyncIterator[bytes], context: Any) -> bytes:
        self._begin(context)
        return b",".join([request async for request in requests])

    async def _chat(self, requests: AsyncIterator[bytes], context: Any) -> AsyncIterator[bytes]:
        self._begin(context)
        self.running += 1
        self.at_once = max(self.at_once, self.running)
        try:
            async for request in requests:
                yield request
        finally:
            self.running -= 1


async def _serve(name: str) -> None:
    server = GrpcServer(name, told=lambda call: print(call, flush=True))
    await server.start()
    print(server.port, flush=True)
    ended = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, ended.set)
    await ended.wait()
    await server.stop(_GRACE_SECONDS)


if __name__ == "__main__":
    asyncio.run(_serve(sys.argv[1]))
