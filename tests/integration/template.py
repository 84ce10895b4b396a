"""A process that has imported what `zonal run` needs, and copies itself into one each time that it is asked.

Run as a program: `python -m tests.integration.template DESCRIPTOR`, with one end of a pair of sockets that keep
messages apart. A copy then does what `python -m ingress` does, with its own arguments, environment, folder and files.
"""

from __future__ import annotations

import importlib
import os
import runpy
import selectors
import signal
import socket
import sys
import threading

import msgspec

_IMPORTED = (
    "aiohttp.web",
    "balancer.metrics.processes",
    "balancer.workers.worker",
    "ingress.app",
    "ingress.cli.commands",
    "ingress.cluster",
    "prometheus_client",
    "uvloop",
)
MESSAGE_BYTES = 100_000


class Order(msgspec.Struct, frozen=True):
    """What a copy is to run. The descriptors of its standard input, output and error come with the message."""

    arguments: tuple[str, ...]
    environment: dict[str, str]
    folder: str


class Copied(msgspec.Struct, frozen=True, tag=True):
    pid: int


class Ended(msgspec.Struct, frozen=True, tag=True):
    """A copy has ended and is reaped. `status` is as of `subprocess.Popen`: negative for a signal."""

    pid: int
    status: int


def copied_for_an_order(asker: socket.socket) -> Order | None:
    """Make a copy for each message of `asker`; in a copy, what it is to do. None when nobody asks any more."""
    with selectors.DefaultSelector() as selector:
        selector.register(asker, selectors.EVENT_READ)
        while True:
            for key, _ in selector.select():
                if key.fileobj is not asker:
                    selector.unregister(key.fileobj)
                    asker.send(msgspec.json.encode(_reaped(key.fd, key.data)))
                    continue
                message, descriptors, _, _ = socket.recv_fds(asker, MESSAGE_BYTES, 3)
                if not message:
                    return None
                pid = os.fork()
                if pid == 0:
                    _takes(descriptors)
                    return msgspec.json.decode(message, type=Order)
                for descriptor in descriptors:
                    os.close(descriptor)
                selector.register(os.pidfd_open(pid), selectors.EVENT_READ, pid)
                asker.send(msgspec.json.encode(Copied(pid)))


def _reaped(descriptor: int, pid: int) -> Ended:
    os.close(descriptor)
    _, status = os.waitpid(pid, 0)
    return Ended(pid, os.waitstatus_to_exitcode(status))


def _takes(descriptors: list[int]) -> None:
    """Make these the standard files, and close all others, those of the copied process among them."""
    for number, descriptor in enumerate(descriptors):
        os.dup2(descriptor, number)
    os.closerange(3, 1 << 16)


def _follow(order: Order) -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.environ.clear()
    os.environ.update(order.environment)
    os.chdir(order.folder)
    sys.argv[1:] = order.arguments
    runpy.run_module("ingress", run_name="__main__", alter_sys=True)


def main() -> None:
    for module in _IMPORTED:
        importlib.import_module(module)
    assert threading.active_count() == 1, "a copy would have no such thread"
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # from a terminal; whoever asks ends it
    asker = socket.socket(fileno=int(sys.argv[1]))
    order = copied_for_an_order(asker)
    if order is not None:
        asker.detach()
        _follow(order)


if __name__ == "__main__":
    main()
