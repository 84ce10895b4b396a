"""What contenders are told in these tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.bench.peers.configs.setup import Setup


@pytest.fixture
def setup(tmp_path: Path) -> Setup:
    certificate, key, both = (tmp_path / f"{name}.pem" for name in ("certificate", "key", "both"))
    for path in (certificate, key, both):
        path.write_text("-----BEGIN NOTHING-----\n")
    return Setup(
        place=tmp_path,
        http_port=20001,
        https_port=20002,
        endpoint_ports=(20011, 20012, 20013, 20014),
        grpc_ports=(20031, 20032, 20033, 20034),
        echo_port=20020,
        certificate=certificate,
        key=key,
        both=both,
    )
