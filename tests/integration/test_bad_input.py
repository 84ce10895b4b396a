"""What the user gets wrong is one clear line on standard error and exit status 2, never a traceback.

What is wrong in a manifest folder is a finding, and the rest of the folder is served.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.integration.running import Ended, completed, running
from tests.integration.shop import HOST, shop
from tests.integration.wire import get


def assert_refused(ended: Ended, *words: str) -> None:
    """Exactly one line that names what is wrong."""
    assert ended.status == 2, ended.err
    assert ended.out == ""
    assert ended.err.startswith("zonal: ")
    assert ended.err.count("\n") == 1, ended.err
    assert ended.err.endswith("\n")
    for word in words:
        assert word in ended.err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("run", "--no-such-option"), ["--no-such-option"]),
        (("frobnicate",), ["frobnicate"]),
        (("run",), ["--source"]),
        (("run", "--source", "kubernetes"), ["kubernetes"]),
        (("run", "--source", ".", "--workers", "many"), ["--workers"]),
        (("run", "--source", ".", "--workers", "-1"), ["--workers"]),
        (("run", "--source", ".", "--workers", "65"), ["--workers", "64"]),
        (("run", "--source", ".", "--http-port", "65536"), ["--http-port", "65536"]),
        (("run", "--source", ".", "--http-port", "eighty"), ["--http-port", "eighty"]),
        (("run", "--source", ".", "--shutdown-grace-period", "-1"), ["--shutdown-grace-period"]),
        (("run", "--source", ".", "--configmap", "zonal"), ["--configmap", "NAMESPACE/NAME"]),
        (("run", "--source", ".", "--access-log", "xml"), ["--access-log", "xml"]),
        (("run", "--source", ".", "surplus"), ["surplus"]),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
async def test_arguments(arguments: tuple[str, ...], words: list[str]) -> None:
    assert_refused(await completed(*arguments), *words)


async def test_an_environment_value_is_checked_like_a_flag() -> None:
    assert_refused(await completed("run", "--source", ".", environment={"ZONAL_HTTP_PORT": "eighty"}), "eighty")


async def test_a_missing_folder(tmp_path: Path) -> None:
    assert_refused(await run_on(tmp_path / "missing"), "missing", "No such file or directory")


async def test_a_file_instead_of_a_folder(tmp_path: Path) -> None:
    file = tmp_path / "manifest.yaml"
    file.write_text("{}")
    assert_refused(await run_on(file), "manifest.yaml", "Not a directory")


async def test_a_folder_that_nobody_can_read(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to("loop")
    assert_refused(await run_on(tmp_path / "loop"), "loop")


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads every folder")
async def test_a_folder_without_permission(tmp_path: Path) -> None:
    folder = tmp_path / "closed"
    folder.mkdir(mode=0o000)
    assert_refused(await run_on(folder), "closed", "Permission denied")


async def run_on(folder: Path, *arguments: str) -> Ended:
    return await completed(
        "run", "--source", str(folder), "--http-port=0", "--https-port=0", "--admin-port=0", *arguments
    )


@pytest.fixture
def taken_port() -> Iterator[Callable[[str], int]]:
    """Takes a free port of an address for as long as the test runs."""
    sockets = []

    def take(address: str) -> int:
        taken = socket.create_server((address, 0), family=socket.AF_INET6 if ":" in address else socket.AF_INET)
        sockets.append(taken)
        return int(taken.getsockname()[1])

    yield take
    for taken in sockets:
        taken.close()


@pytest.mark.parametrize("workers", ["0", "1", "2"])
@pytest.mark.parametrize("name", ["http", "https", "admin"])
async def test_a_port_in_use(tmp_path: Path, taken_port: Callable[[str], int], name: str, workers: str) -> None:
    port = taken_port("127.0.0.1")
    ended = await run_on(tmp_path, "--bind-address=127.0.0.1", f"--{name}-port={port}", "--workers", workers)
    line = f"zonal: --{name}-port: cannot listen on 127.0.0.1 port {port}: Address already in use\n"
    assert_refused(ended, line)


@pytest.mark.parametrize("option", ["--bind-address", "--admin-address"])
@pytest.mark.parametrize("address", ["192.0.2.1", "nowhere.invalid"])
async def test_an_address_that_is_not_ours(tmp_path: Path, option: str, address: str) -> None:
    assert_refused(await run_on(tmp_path, option, address), f"zonal: {option}: cannot listen on {address}")


async def test_a_port_in_use_on_the_default_address(tmp_path: Path, taken_port: Callable[[str], int]) -> None:
    port = taken_port("0.0.0.0")
    assert_refused(await run_on(tmp_path, "--http-port", str(port)), "--http-port", str(port), "in use")


INGRESS = (
    "apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {name: %s, annotations: {a: %s}}\n"
    "spec:\n  ingressClassName: zonal\n  rules:\n  - host: %s\n"
    "    http: {paths: [{path: %s, pathType: Prefix, backend: {service: {name: %s, port: {number: %s}}}}]}\n"
)
LONG = "x" * 1_000_000
HOSTILE = {
    "deep.yaml": ("[" * 100_000, "FileUnreadable"),
    "deep.json": ("[" * 100_000, "FileUnreadable"),
    "aliases.yaml": (
        "a0: &a0 {k: v}\n" + "".join(f"a{i}: &a{i} [{f'*a{i - 1},' * 10}]\n" for i in range(1, 30)),
        "FileUnreadable",
    ),
    "port.yaml": (INGRESS % ("port", "a", "a.test", "/", "a", "0x" + "f" * 5000), "ObjectMalformed"),
    "number.yaml": (
        f"apiVersion: v1\nkind: Service\nmetadata: {{name: n}}\nspec: {{ports: [{{port: 0x{'f' * 60}}}]}}",
        "ObjectMalformed",
    ),
    "long.yaml": (INGRESS % ("long", LONG, LONG, "/" + LONG, LONG, 80), "InvalidIngress"),
    "control.yaml": (INGRESS % ("control", '"\\0"', '"\\0\\n"', '"/\\0\\r\\n"', '"\\e"', 80), "InvalidIngress"),
}


async def test_hostile_manifests_are_findings_and_the_rest_is_served(tmp_path: Path) -> None:
    async with shop(tmp_path, {"zone-a": 1}) as place:
        for name, (text, _) in HOSTILE.items():
            (place.place / name).write_text(text)
        (place.place / "large.yaml").touch()
        os.truncate(place.place / "large.yaml", 2**40)
        place.place.joinpath(*["d"] * 600).mkdir(parents=True)
        async with running(place.place) as zonal:
            assert (await get(zonal.http_port, HOST)).status == 200
            found = {finding["reason"] for finding in await zonal.findings()}
    assert found >= {reason for _, reason in HOSTILE.values()} | {"FileTooLarge", "FolderUnreadable"}
