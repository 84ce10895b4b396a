"""A Prometheus that knows a few answers: it serves /api/v1/query on loopback, and remembers what it was asked.

Responsible for the wire. It must not know what is asked for.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import NamedTuple
from urllib.parse import parse_qs, urlsplit

Known = Mapping[str, Sequence[tuple[Mapping[str, str], float]]]
"""Samples by a metric that a query names."""


class Asked(NamedTuple):
    """A question: the query, its time, and what it had in the field `Authorization`."""

    query: str
    at_epoch_seconds: float
    authorization: str


class FakePrometheus(NamedTuple):
    """Where it listens, and the questions until now."""

    url: str
    asked: list[Asked]


@contextmanager
def prometheus(known: Known, *, status: int = 200) -> Iterator[FakePrometheus]:
    """A server that answers queries with the samples of the metric in them, or always with an error `status`."""
    asked: list[Asked] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            parameters = parse_qs(urlsplit(self.path).query)
            query = parameters["query"][0]
            asked.append(Asked(query, float(parameters["time"][0]), self.headers.get("Authorization", "")))
            samples = next((samples for metric, samples in known.items() if f"({metric}[" in query), ())
            result = [{"metric": dict(labels), "value": [0, str(value)]} for labels, value in samples]
            body = json.dumps({"status": "success", "data": {"resultType": "vector", "result": result}}).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Says nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield FakePrometheus(f"http://127.0.0.1:{server.server_port}", asked)
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
