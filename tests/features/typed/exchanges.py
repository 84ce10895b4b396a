"""Scripted exchanges with `zonal run`, written down without what differs from run to run.

Equal seeds make equal exchanges, so what two builds write down can be compared byte for byte.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import re
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from tests.features.typed.endpoint import ANSWERS, Endpoint
from tests.integration.manifests import ManifestFolder, config_map, endpoint_slice, ingress, path, rule, service
from tests.integration.running import Zonal, running, until

_KINDS = [kind.decode() for kind in ANSWERS]
_METHODS = ["GET"] * 6 + ["HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH", "PROPFIND", "TRACE", "BREW"]
_TARGETS = ["/{0}/{1}", "/{0}/{1}?a=b&c", "/{0}/{1}/%20x", "//{0}/{1}", "/{0}/{1}/../y", "/nowhere/{1}", "/empty/{1}"]
_TARGETS += ["http://shop.test/{0}/{1}", "*", "/{0}/{1}#f", "/denied/{1}", "/moved/{1}"]
_FIELDS = ["Accept: */*", "X-Request-ID: from-the-client", "Cookie: a=b", "X_Under: u", "X-Forwarded-For: 192.0.2.1"]
_FIELDS += [
    "Connection: X-Hop",
    "X-Hop: 1",
    "TE: trailers",
    "Upgrade: websocket",
    "X.Dot: d",
    "Bad Name: x",
    "Content-Length: 5",
]
_FIELDS += [
    "Transfer-Encoding: gzip",
    "Expect: 100-continue",
    "Expect: other",
    "X-Long: " + "v" * 3000,
    "Max-Forwards: 0",
]
_HOSTS = ["shop.test"] * 12 + ["elsewhere.test", "SHOP.test:80", "bad host", ""]
_END_SECONDS = 30.0
_MASKS = (
    (re.compile(rb"Date: [^\r]* GMT"), b"Date: NOW"),
    (re.compile(rb"127\.0\.0\.1:\d+"), b"ENDPOINT"),
    (re.compile(rb"\b[0-9a-f]{32}\b"), b"ID"),
    (re.compile(rb'("(?:time|\w*seconds\w*|duration\w*)":)("[^"]*"|[-0-9.e]+)'), rb"\1TIME"),
)


def conversations(seed: int, count: int) -> Iterator[tuple[list[bytes], bool]]:
    """`count` requests in conversations of one client each: their bytes, and whether they come one byte at a time."""
    dice, number = random.Random(seed), 0
    while number < count:
        requests = []
        for _ in range(min(dice.choice((1, 1, 2, 3, 8)), count - number)):
            number += 1
            requests.append(_request(dice, number))
            if b" HTTP/1.0\r\n" in requests[-1]:  # bytes after a request that closes meet a reset, or come before it
                break
        else:
            requests.append(b"GET /plain/0 HTTP/1.1\r\nHost: shop.test\r\nConnection: close\r\n\r\n")
        yield requests, dice.random() < 0.15


def _request(dice: random.Random, number: int) -> bytes:
    method, target = dice.choice(_METHODS), dice.choice([_TARGETS[0]] * 12 + _TARGETS)
    fields = [f"Host: {dice.choice(_HOSTS)}", *dice.sample(_FIELDS, dice.choice((0, 0, 0, 1, 1, 2)))]
    version, body = dice.choice(["1.1"] * 9 + ["1.0", "2.0"]), b""
    if method in ("POST", "PUT", "PATCH"):
        body = bytes(dice.choices(b"abc", k=dice.choice((0, 1, 100, 40000))))
        if dice.random() < 0.4:
            fields.append("Transfer-Encoding: chunked")
            body = (
                b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in (body[:50], body[50:]) if part) + b"0\r\n\r\n"
            )
        else:
            fields.append(f"Content-Length: {len(body)}")
    head = f"{method} {target.format(dice.choice(_KINDS), number)} HTTP/{version}\r\n" + "\r\n".join(fields)
    return head.encode() + b"\r\n\r\n" + body


async def _converse(port: int, requests: list[bytes], bytewise: bool) -> bytes:
    """Everything that the client of one conversation gets."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    answers = asyncio.ensure_future(reader.read(-1))
    data = b"".join(requests)
    pieces = [data[at : at + 1] for at in range(len(data))] if bytewise and len(data) < 5000 else requests
    try:
        with suppress(ConnectionError):
            for piece in pieces:
                writer.write(piece)
                await writer.drain()
                await asyncio.sleep(0)
        return await asyncio.wait_for(answers, _END_SECONDS)
    except ConnectionError:
        return b"RESET"  # whatever came before it
    finally:
        writer.close()


def _write_manifests(folder: ManifestFolder, endpoint: Endpoint) -> None:
    folder.write("settings.yaml", config_map(ssl_redirect="false"))
    folder.write(
        "shop.yaml",
        service("cart"),
        service("empty"),
        endpoint_slice(endpoint),
        ingress("shop", rule("shop.test", path("/", "cart"), path("/empty", "empty"))),
        ingress(
            "denied",
            rule("shop.test", path("/denied", "cart")),
            annotations={"nginx.ingress.kubernetes.io/whitelist-source-range": "192.0.2.0/24"},
        ),
        ingress(
            "moved",
            rule("shop.test", path("/moved", "cart")),
            annotations={"nginx.ingress.kubernetes.io/permanent-redirect": "https://other.test/"},
        ),
    )


def masked(data: bytes) -> bytes:
    """`data` without times, made ids and ports of this run."""
    for pattern, replacement in _MASKS:
        data = pattern.sub(replacement, data)
    return data


async def _counted(zonal: Zonal) -> bytes:
    """The counters of requests, without times."""
    page = (await zonal.admin("/metrics")).body
    counters = (line for line in page.splitlines() if line.startswith(b"zonal_") and b"_total" in line)
    return b"\n".join(line for line in counters if b"seconds_total" not in line)


async def written_down(seed: int, count: int, place: Path) -> bytes:
    """What clients and endpoint got, the access log and the counters."""
    async with Endpoint() as endpoint:
        folder = ManifestFolder(place / "manifests")
        _write_manifests(folder, endpoint)
        parts: list[bytes] = []
        async with running(folder.place, anew=True) as zonal:
            for requests, bytewise in conversations(seed, count):
                before = len(endpoint.heads)
                parts += [b"CLIENT ", await _converse(zonal.http_port, requests, bytewise), b"\nENDPOINT "]
                parts += endpoint.heads[before:]
                parts.append(b"\n")
            counted = await _counted(zonal)
            served = [line for line in counted.splitlines() if line.startswith(b"zonal_requests_total")]
            logged = sum(float(line.rpartition(b" ")[2]) for line in served)
            await until(lambda: len(zonal.access_lines) >= logged, seconds=_END_SECONDS)
            parts += ["\n".join(zonal.access_lines).encode(), b"\n", counted, b"\n"]
    return masked(b"".join(parts))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--exchanges", type=int, default=1000)
    parser.add_argument("--output", type=Path, required=True)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        options.output.write_bytes(asyncio.run(written_down(options.seed, options.exchanges, Path(folder))))


if __name__ == "__main__":
    main()
