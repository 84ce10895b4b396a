"""A Kubernetes API server for tests: what a test says to it and asks of it, and its port.

Responsible for listening, certificates, kubeconfigs and the test's interface. It must not know how requests are
answered.
"""

from __future__ import annotations

import base64
import socket
import ssl
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Self

import msgspec
import trustme
import yaml
from aiohttp import web

from tests.fakes.apiserver import writes
from tests.fakes.apiserver.faults import Faults
from tests.fakes.apiserver.handling import Handler
from tests.fakes.apiserver.kinds import BY_KIND, Document
from tests.fakes.apiserver.rbac import Rule
from tests.fakes.apiserver.requests import Call
from tests.fakes.sockets import until


class ApiServer:
    """`async with ApiServer() as server:` listens on a free port of loopback in the test's own loop.

    `tokens`: the bearer tokens that are accepted; None accepts everybody. `streaming_lists`: False answers
    `sendInitialEvents` as an old storage does. `watch_cache`: False pages also the lists at version 0.
    `second`: how long a second of `timeoutSeconds` and `bookmark_seconds` lasts here, to compress time.
    `history`: how many changes of each kind are remembered at least; a watch from before them is answered with 410.

    Namespaces need not exist, nothing but the object itself is deleted with it, and no controller runs.
    """

    def __init__(
        self,
        tls: bool = False,
        tokens: set[str] | None = None,
        streaming_lists: bool = True,
        *,
        watch_cache: bool = True,
        second: float = 1.0,
        bookmark_seconds: float = 60.0,
        history: int = 5000,
    ) -> None:
        self.port = 0
        self._handler = Handler(
            tokens=tokens,
            streaming_lists=streaming_lists,
            has_cache=watch_cache,
            second=second,
            bookmark_seconds=bookmark_seconds,
            history=history,
        )
        self._authority: trustme.CA | None = None
        self._context: ssl.SSLContext | None = None
        self._place: socket.socket | None = None
        self._runner: web.ServerRunner | None = None
        if tls:
            self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self.renew_authority()

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()
        if self._place is not None:
            self._place.close()

    # Listening

    @property
    def url(self) -> str:
        return f"{'https' if self._context else 'http'}://127.0.0.1:{self.port}"

    @property
    def authority_pem(self) -> bytes:
        """The certificate that clients must trust; empty without TLS."""
        return self._authority.cert_pem.bytes() if self._authority else b""

    async def start(self) -> None:
        """Listen: on any port at first, later on the same again, with all that is stored."""
        if self._place is None:
            self._place = socket.socket()  # never listens, so that nobody else gets the port while we are away
            self._place.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            self._place.bind(("127.0.0.1", self.port))
            self.port = self._place.getsockname()[1]
        server = web.Server(self._handler.handle, handler_cancellation=True)
        self._runner = web.ServerRunner(server, shutdown_timeout=0.1)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", self.port, ssl_context=self._context).start()

    async def stop(self) -> None:
        """Close the port and cut every connection. Connecting is refused until `start`."""
        runner, self._runner = self._runner, None
        if runner is not None:
            for connection in runner.server.connections if runner.server else ():
                if connection.transport is not None:
                    connection.transport.abort()
            await runner.cleanup()

    def renew_authority(self) -> None:
        """A new CA and a certificate of it for new connections; those that are open live on."""
        assert self._context is not None
        self._authority = trustme.CA()
        self._authority.issue_cert("127.0.0.1", "localhost").configure_cert(self._context)

    def write_kubeconfig(
        self,
        path: Path,
        token: str | None = None,
        *,
        token_file: Path | None = None,
        authority_file: Path | None = None,
    ) -> Path:
        """A kubeconfig for this server. Token and CA are in it, unless files are named that hold them."""
        cluster: Document = {"server": self.url}
        if authority_file is not None:
            cluster["certificate-authority"] = str(authority_file)
        elif self._authority is not None:
            cluster["certificate-authority-data"] = base64.b64encode(self.authority_pem).decode()
        user: Document = {"tokenFile": str(token_file)} if token_file is not None else {}
        if token is not None:
            user["token"] = token
        document = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "test",
            "clusters": [{"name": "test", "cluster": cluster}],
            "users": [{"name": "test", "user": user}],
            "contexts": [{"name": "test", "context": {"cluster": "test", "user": "test", "namespace": "default"}}],
        }
        path.write_text(yaml.safe_dump(document), encoding="utf-8")
        return path

    # Objects

    @property
    def version(self) -> int:
        """The resource version of the whole store."""
        return self._handler.store.version

    def put(self, document: Document) -> Document:
        """Create an object, or replace it whole with its status, under a new version. Returns it as it is stored."""
        stored = writes.put(self._handler.store, BY_KIND[document["kind"]], _copied(document))
        return _copied(stored.document)

    def delete(self, kind: str, namespace: str, name: str) -> None:
        """Take an object away. KeyError where there is none."""
        self._handler.store.remove(kind, (namespace, name))

    def get(self, kind: str, namespace: str, name: str) -> Document | None:
        """An object as it is stored; Events are of events.k8s.io."""
        stored = self._handler.store.find(kind, (namespace, name))
        return _copied(stored.document) if stored else None

    def objects(self, kind: str) -> list[Document]:
        """Every object of a kind, by namespace and name."""
        return [_copied(stored.document) for stored in self._handler.store.objects(kind)]

    def compact(self) -> None:
        """Forget history: watches, exact lists and continue tokens of versions before now are answered with 410."""
        self._handler.store.compact()

    # Calls

    @property
    def calls(self) -> list[Call]:
        """Every request since the beginning, or since the list was cleared."""
        return self._handler.calls

    @property
    def open_watches(self) -> int:
        return len(self._handler.streams)

    async def until_calls(self, predicate: Callable[[Call], bool], count: int = 1) -> None:
        """Wait until so many calls satisfy the predicate. Raises TimeoutError when they do not come."""
        await until(lambda: sum(map(predicate, self.calls)) >= count)

    def cut_watches(self) -> None:
        """Reset every connection that carries a watch, now."""
        self._handler.cut_watches()

    # What is allowed, and what goes wrong

    @property
    def tokens(self) -> set[str] | None:
        return self._handler.tokens

    @tokens.setter
    def tokens(self, tokens: set[str] | None) -> None:
        self._handler.tokens = tokens

    @property
    def rules(self) -> Sequence[Rule] | None:
        """The rules of RBAC that grant what is asked; None grants everything."""
        return self._handler.rules

    @rules.setter
    def rules(self, rules: Sequence[Rule] | None) -> None:
        self._handler.rules = rules

    @property
    def custom(self) -> frozenset[tuple[str, str]]:
        """Version and kind of each custom resource that is served. Without any, its group does not exist."""
        return self._handler.custom

    @custom.setter
    def custom(self, custom: frozenset[tuple[str, str]]) -> None:
        self._handler.custom = custom
        self.cut_watches()

    @property
    def streaming_lists(self) -> bool:
        return self._handler.streaming_lists

    @streaming_lists.setter
    def streaming_lists(self, is_on: bool) -> None:
        self._handler.streaming_lists = is_on

    @property
    def faults(self) -> Faults:
        return self._handler.faults


def _copied(document: Document) -> Document:
    """A copy by way of JSON: several times as fast as `deepcopy`, and it refuses what is no JSON."""
    copy: Document = msgspec.json.decode(msgspec.json.encode(document))
    return copy
