"""The calls of the gRPC cases are answered well, by the real programs."""

from __future__ import annotations

import os
import subprocess

import pytest

from tests.bench.peers import programs
from tests.bench.peers.cases import NGINX, ZONAL
from tests.bench.peers.configs import grpc, zonal
from tests.bench.peers.placing import share_out
from tests.bench.peers.stage import Stage, standing

_PROGRAMS = ("nginx", "nghttp", "h2load")
_CALLS = 2000

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not all(map(programs.found, _PROGRAMS)), reason="nginx, nghttp or h2load is not installed"),
]


def _said(stage: Stage, name: str, program: str, *arguments: str, path: str) -> bytes:
    url = f"https://{zonal.SECURE_HOST}:{stage.contender(name).setup.https_port}{path}"
    fields = [part for field in grpc.FIELDS for part in ("-H", field)]
    command = (program, *arguments, "-d", str(stage.message), *fields, url)
    return subprocess.run(command, capture_output=True, timeout=60, check=True).stdout


def test_a_call_gets_its_messages_and_a_status_through_zonal_and_nginx() -> None:
    with standing(share_out(os.sched_getaffinity(0))) as stage:
        for name in (NGINX, ZONAL):
            for path, answer in grpc.ANSWERS.items():
                assert _said(stage, name, "nghttp", path=path) == answer
                fields = _said(stage, name, "nghttp", "-nv", path=path)
                assert b":status: 200" in fields
                assert b"grpc-status: 0" in fields
                many = _said(stage, name, "h2load", "-c1", "-m32", f"-n{_CALLS}", path=path)
                assert f"status codes: {_CALLS} 2xx".encode() in many
