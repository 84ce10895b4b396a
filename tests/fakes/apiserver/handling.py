"""From a request to its answer: faults first, then authentication, RBAC, and what the request asks for.

Responsible for that order and for HTTP: statuses, fields, framing. It must not know listening or certificates.
"""

from __future__ import annotations

import asyncio
import gzip
import time
from collections.abc import Collection, Sequence

import msgspec
from aiohttp import web

from tests.fakes.apiserver import discovery, writes
from tests.fakes.apiserver.faults import Fault, Faults
from tests.fakes.apiserver.forwarding import forward
from tests.fakes.apiserver.kinds import CUSTOM_GROUPS, Resource
from tests.fakes.apiserver.listing import list_body, view_of
from tests.fakes.apiserver.rbac import Rule, forbidden, is_granted
from tests.fakes.apiserver.requests import Call, form_of, place
from tests.fakes.apiserver.statuses import RefusedError, bad_request, deleted, failure, not_found
from tests.fakes.apiserver.store import Form, Store, Stored, shown
from tests.fakes.apiserver.streams import Stream, never, reset
from tests.fakes.apiserver.watching import opening, options_of

_CHUNKED_FROM_BYTES = 2048
_GZIP_FROM_BYTES = 128 * 1024
_JSON = "application/json"
_UNCACHED = {"Cache-Control": "no-cache, private"}
_NOT_ALLOWED = failure(405, "the server does not allow this method on the requested resource")
_READABLE = (_JSON, "application/yaml", "application/octet-stream")  # the last is what aiohttp says of no type at all
_UNKNOWN_FORMAT = failure(
    415,
    "the body of the request was in an unknown format - accepted media types include: "
    "application/json, application/yaml",
)
_PROXY_PAGE = b"<html><head><title>502 Bad Gateway</title></head><body><h1>Bad Gateway</h1></body></html>\n"


class Handler:
    """Answers requests from a store. What a test may change while it runs is public."""

    def __init__(
        self,
        *,
        tokens: set[str] | None,
        streaming_lists: bool,
        has_cache: bool,
        second: float,
        bookmark_seconds: float,
        history: int,
    ) -> None:
        self.store = Store(history=history)
        self.faults = Faults(self._wake_streams)
        self.calls: list[Call] = []
        self.rules: Sequence[Rule] | None = None
        self.custom: frozenset[tuple[str, str]] = frozenset()
        self.tokens = tokens
        self.streaming_lists = streaming_lists
        self.bookmark_seconds = bookmark_seconds
        self.streams: dict[Stream, web.BaseRequest] = {}
        self._has_cache = has_cache
        self._second = second

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer one request; a call for it is on record from its begin on."""
        call = _call(request)
        self.calls.append(call)
        try:
            fault = self.faults.before_answer(call)
            if fault is not None and (faulty := await _carried_out(fault, request, call)):
                return faulty
            self._admit(request, call)
            return await self._answer(request, call, fault)
        except RefusedError as refused:
            return _json(request, call, discovery.encoded(refused.status), code=refused.code)

    def cut_watches(self) -> None:
        """Reset every connection that carries a watch, now."""
        for request in self.streams.values():
            reset(request)

    def _wake_streams(self) -> None:
        for stream in self.streams:
            stream.wake()

    def _admit(self, request: web.BaseRequest, call: Call) -> None:
        if self.tokens is not None and _token(request) not in self.tokens:
            raise RefusedError(failure(401, "Unauthorized"))
        if self.rules is not None and not is_granted(call, self.rules):
            raise forbidden(call)

    async def _answer(self, request: web.BaseRequest, call: Call, fault: Fault | None) -> web.StreamResponse:
        if call.is_portforward:
            return await forward(request, call, self.store)
        resource = call.known_resource()
        if resource is None or (
            resource.group in CUSTOM_GROUPS and (resource.version, resource.kind) not in self.custom
        ):
            return _of_no_resource(call, self.custom)
        if call.verb == "watch":
            return await self._watched(request, call, resource, fault)
        if call.verb in ("get", "list"):
            return _json(request, call, self._read(call, resource, fault))
        if resource.is_namespaced and not call.namespace:
            raise RefusedError(_NOT_ALLOWED)
        if call.query.get("dryRun"):
            raise bad_request("the test API server makes no dry runs")
        if call.verb in ("create", "update") and request.content_type not in _READABLE:
            raise RefusedError(_UNKNOWN_FORMAT)
        body = await request.content.read()
        return self._written(request, call, resource, body)

    def _read(self, call: Call, resource: Resource, fault: Fault | None) -> bytes:
        form = form_of(call.accept, call.verb)
        if call.verb == "get":
            return shown(self._existing(call, resource), resource, form) + b"\n"
        view = view_of(call, resource)
        if fault is not None and fault.empty_list:
            view = msgspec.structs.replace(view, matches=lambda _: False)
        at = fault.at_version if fault is not None else None
        return list_body(self.store, view, call.query, form=form, has_cache=self._has_cache, at=at)

    def _existing(self, call: Call, resource: Resource) -> Stored:
        stored = self.store.find(resource.kind, (call.namespace, call.name))
        if stored is None:
            raise not_found(resource, call.name)
        return stored

    def _written(self, request: web.BaseRequest, call: Call, resource: Resource, body: bytes) -> web.StreamResponse:
        store, key, code, manager = self.store, (call.namespace, call.name), 200, _manager(call)
        if call.verb == "create" and not call.name:
            stored, code = writes.create(store, resource, call.namespace, body, manager=manager), 201
        elif call.verb == "update":
            is_new = store.find(resource.kind, key) is None
            stored = writes.update(store, resource, key, subresource=call.subresource, body=body, manager=manager)
            code = 201 if is_new else 200
        elif call.verb == "patch":
            media = request.content_type
            stored, is_new = writes.patch(
                store,
                resource,
                key,
                subresource=call.subresource,
                content_type=media,
                body=body,
                manager=manager,
            )
            code = 201 if is_new else 200
        elif call.verb == "delete":
            stored = writes.delete(store, resource, key, body)
            if not resource.delete_returns_object:
                status = deleted(resource, call.name, stored.document["metadata"]["uid"])
                return _json(request, call, discovery.encoded(status))
        else:
            raise RefusedError(_NOT_ALLOWED)
        return _json(request, call, shown(stored, resource, Form.FULL) + b"\n", code=code)

    async def _watched(
        self, request: web.BaseRequest, call: Call, resource: Resource, fault: Fault | None
    ) -> web.StreamResponse:
        view, options, form = view_of(call, resource), options_of(call.query), form_of(call.accept, call.verb)
        begin = opening(
            self.store,
            view,
            options,
            form=form,
            streaming_lists=self.streaming_lists,
            at=fault.at_version if fault is not None else None,
            is_empty=fault is not None and fault.empty_list,
        )
        stream = Stream(
            call,
            view,
            begin,
            options=options,
            form=form,
            store=self.store,
            faults=self.faults,
            second=self._second,
            bookmark_seconds=self.bookmark_seconds,
        )
        response = web.StreamResponse(headers={"Content-Type": _JSON} | _UNCACHED)
        response.enable_chunked_encoding()
        call.status = 200
        self.streams[stream] = request
        try:
            await response.prepare(request)
            await stream.run(request, response)
            await response.write_eof()
        except ConnectionError:
            return response
        finally:
            stream.close()
            del self.streams[stream]
        return response


def _call(request: web.BaseRequest) -> Call:
    return place(
        Call(
            at=time.monotonic(),
            method=request.method,
            path=request.path,
            query=dict(request.query),
            user=_token(request) or "system:anonymous",
            user_agent=request.headers.get("User-Agent", ""),
            accept=request.headers.get("Accept", ""),
        )
    )


def _manager(call: Call) -> str:
    """Who writes: what the query says. Without it nobody is noted, where a real server would name the program."""
    return call.query.get("fieldManager", "")


def _token(request: web.BaseRequest) -> str:
    scheme, _, token = request.headers.get("Authorization", "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""


async def _carried_out(fault: Fault, request: web.BaseRequest, call: Call) -> web.StreamResponse | None:
    """What a fault does instead of the answer; None where the answer follows."""
    await asyncio.sleep(fault.delay_seconds)
    if fault.reset:
        reset(request)
    if fault.reset or fault.stall:
        await never()
    if not fault.status:
        return None
    headers = {"Retry-After": fault.retry_after} if fault.retry_after else {}
    if fault.html:
        call.status = fault.status
        return web.Response(status=fault.status, body=_PROXY_PAGE, headers=headers | {"Content-Type": "text/html"})
    status = failure(fault.status, fault.message or "injected by a fault")
    return _json(request, call, discovery.encoded(status), code=fault.status, headers=headers)


def _of_no_resource(call: Call, custom: Collection[tuple[str, str]]) -> web.StreamResponse:
    found = discovery.answer_at(call.path, custom)
    call.status = 200 if found else 404
    media, body = found or ("text/plain; charset=utf-8", b"404 page not found\n")
    return web.Response(status=call.status, body=body, headers={"Content-Type": media} | _UNCACHED)


def _json(
    request: web.BaseRequest, call: Call, body: bytes, *, code: int = 200, headers: dict[str, str] | None = None
) -> web.StreamResponse:
    """An answer framed and compressed as a real API server does it: chunked from 2 KiB, gzip from 128 KiB."""
    call.status = code
    fields = {"Content-Type": _JSON} | _UNCACHED | (headers or {})
    if len(body) >= _GZIP_FROM_BYTES and "gzip" in request.headers.get("Accept-Encoding", ""):
        body = gzip.compress(body, compresslevel=1)
        fields |= {"Content-Encoding": "gzip", "Vary": "Accept-Encoding"}
    response = web.Response(status=code, body=body, headers=fields)
    if len(body) > _CHUNKED_FROM_BYTES:
        response.enable_chunked_encoding()
    return response
