"""Connections that are used once and then kept: one request each, one after the other; then they idle.

Arguments: port, host, connections. Prints a `Load` as JSON when all idle, and ends when its standard input does.
"""

from __future__ import annotations

import socket
import sys
import time

import msgspec

from tests.bench.peers.loads.answers import is_success, whole_bytes
from tests.bench.peers.samples import Load


def opened(port: int, request: bytes) -> tuple[socket.socket, bool]:
    """A connection whose one request is answered, and whether it was a success."""
    connection = socket.create_connection(("127.0.0.1", port), timeout=10)
    connection.sendall(request)
    answer = b""
    while (length := whole_bytes(answer)) is None or len(answer) < length:
        piece = connection.recv(65536)
        if not piece:
            return connection, False
        answer += piece
    return connection, is_success(answer)


def main() -> None:
    port, host, connections = sys.argv[1:]
    request = f"GET / HTTP/1.1\r\nHost: {host}\r\n\r\n".encode()
    started = time.perf_counter()
    kept = [opened(int(port), request) for _ in range(int(connections))]
    served = sum(is_well for _, is_well in kept)
    load = Load(requests=served, seconds=time.perf_counter() - started, failed=len(kept) - served)
    print(msgspec.json.encode(load).decode(), flush=True)
    sys.stdin.read()
    for connection, _ in kept:
        connection.close()


if __name__ == "__main__":
    main()
