"""Full TLS handshakes: a new connection for each GET, and no session is ever offered again (wrk would do that).

Arguments: port, host, seconds, threads. Prints a `Load` as JSON.
"""

from __future__ import annotations

import socket
import ssl
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import msgspec

from tests.bench.peers.loads.answers import is_success
from tests.bench.peers.samples import Load


class Resumed(Exception):
    """A handshake was none: the figures would be of something else."""


def shake_hands(port: int, host: str, *, until: float) -> tuple[int, int]:
    """One connection after the other until that time; how many were answered well, and how many not."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE  # what the client thinks of it costs no proxy
    request = f"GET / HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode()
    answered = failed = 0
    while time.perf_counter() < until:
        try:
            answer = _ask(context, port, host, request)
        except OSError:
            failed += 1
            continue
        answered, failed = answered + is_success(answer), failed + (not is_success(answer))
    return answered, failed


def _ask(context: ssl.SSLContext, port: int, host: str, request: bytes) -> bytes:
    with (
        socket.create_connection(("127.0.0.1", port), timeout=5) as plain,
        context.wrap_socket(plain, server_hostname=host, suppress_ragged_eofs=True) as secure,
    ):
        secure.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # else the request waits for a delayed ACK
        if secure.session_reused:
            raise Resumed
        secure.sendall(request)
        answer = b""
        while piece := secure.recv(65536):
            answer += piece
        return answer


def main() -> None:
    port, host, seconds, threads = sys.argv[1:]
    started = time.perf_counter()
    until = started + float(seconds)
    with ThreadPoolExecutor(int(threads)) as pool:
        runs = [pool.submit(shake_hands, int(port), host, until=until) for _ in range(int(threads))]
        counts = [run.result() for run in runs]
    load = Load(
        requests=sum(answered for answered, _ in counts),
        seconds=time.perf_counter() - started,
        failed=sum(failed for _, failed in counts),
    )
    print(msgspec.json.encode(load).decode())


if __name__ == "__main__":
    main()
