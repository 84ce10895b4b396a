"""Admin ports on loopback that say what a test tells them."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import msgspec

from ingress.admin.overview.document import Overview


class AdminPort(ThreadingHTTPServer):
    """Answers with its documents in turn, the last one again and again; or with `body` and `status`."""

    daemon_threads = True

    def __init__(self, documents: Sequence[Overview] = (), *, body: bytes = b"", status: int = 200) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.bodies = [msgspec.json.encode(document) for document in documents] or [body]
        self.status = status
        self.asked: list[str] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class _Handler(BaseHTTPRequestHandler):
    server: AdminPort

    def do_GET(self) -> None:
        port = self.server
        port.asked.append(self.path)
        body = port.bodies.pop(0) if len(port.bodies) > 1 else port.bodies[0]
        self.send_response(port.status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Be quiet."""


@contextmanager
def admin_port(*documents: Overview, body: bytes = b"", status: int = 200) -> Iterator[AdminPort]:
    """A port that serves for as long as the context lasts."""
    with AdminPort(documents, body=body, status=status) as port:
        serving = threading.Thread(target=port.serve_forever, kwargs={"poll_interval": 0.01})
        serving.start()
        try:
            yield port
        finally:
            port.shutdown()
            serving.join()


def closed_url() -> str:
    """The URL of a port on which nobody listens."""
    with AdminPort() as port:
        return port.url
