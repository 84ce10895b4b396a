"""What clients and endpoints speak: the same fault with each version on either side."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from tests.fakes.endpoints import ScriptedEndpoint
from tests.features.faults.http2_load import Http2Load
from tests.features.faults.http2_scripts import Http2ScriptedEndpoint
from tests.features.faults.load import Load
from tests.features.faults.stage import Stage


class Version(NamedTuple):
    """What endpoints speak: their kind, and what the annotation `backend-protocol` says of them."""

    endpoint: type[ScriptedEndpoint]
    protocol: str


HTTP1, HTTP2 = Version(ScriptedEndpoint, ""), Version(Http2ScriptedEndpoint, "GRPC")
each_version = pytest.mark.parametrize("version", [HTTP1, HTTP2], ids=["HTTP/1.1", "HTTP/2"])


class Pair(NamedTuple):
    """What clients speak (without TLS: a stage needs `http2_cleartext`), and what endpoints do."""

    is_http2: bool
    version: Version

    def load(self, stage: Stage, *, prefix: str = "") -> Load:
        """Clients that speak it."""
        return Http2Load(stage.port, prefix=prefix) if self.is_http2 else stage.load(prefix=prefix)


PLAIN = Pair(False, HTTP1)
_ALIKE = {"HTTP/1.1": PLAIN, "HTTP/2": Pair(True, HTTP2)}
_CROSSED = {"HTTP/1.1 to HTTP/2": Pair(False, HTTP2), "HTTP/2 to HTTP/1.1": Pair(True, HTTP1)}

each_pair = pytest.mark.parametrize(
    "pair",
    [
        *(pytest.param(pair, id=name) for name, pair in _ALIKE.items()),
        *(pytest.param(pair, id=name, marks=pytest.mark.slow) for name, pair in _CROSSED.items()),
    ],
)
"""All four; those that cross are slow tests."""
