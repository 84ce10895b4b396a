"""Network namespaces of Linux, whose packets to each other pass through this process: late, and some not at all.

The kernels of many machines have no `netem`, so packets are read from a TUN device of each namespace and written to
that of the namespace they are for. Whatever else a namespace must reach goes through a bridge: loopback of one
namespace is loopback of another one.
"""

from __future__ import annotations

import asyncio
import ctypes
import fcntl
import os
import random
import socket
import struct
import subprocess
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import Final

import pytest

_NEW_NETWORK: Final = 0x40000000  # CLONE_NEWNET of sched.h
_ATTACH: Final = 0x400454CA  # TUNSETIFF of if_tun.h
_TUN_WITHOUT_HEAD: Final = 0x1001  # IFF_TUN, IFF_NO_PI
_DEVICE: Final = "zonal0"
_PACKET_BYTES: Final = 65_536
_DESTINATION: Final = slice(16, 20)  # of an IPv4 head
_HERE: Final = Path("/proc/thread-self/ns/net")


class Network:
    """Namespaces that reach each other. Those that are `cut` off lose every packet."""

    def __init__(self, *, delay_seconds: float, loss: float) -> None:
        self._delay_seconds = delay_seconds
        self._loss = loss
        self._random = random.Random(1)
        self._devices: dict[bytes, int] = {}  # by the address of a namespace
        self.names: list[str] = []
        self.cut: set[str] = set()
        self.passed = self.lost = 0

    def address(self, name: str) -> str:
        """The address at which the other namespaces reach this one."""
        return f"10.99.0.{self.names.index(name) + 1}"

    def join(self, name: str, device: int) -> None:
        """From now on packets of a namespace pass, which are read from its device."""
        self.names.append(name)
        self._devices[socket.inet_aton(self.address(name))] = device
        asyncio.get_running_loop().add_reader(device, self._forward, name, device)

    def leave(self, name: str) -> None:
        """Its packets pass no more."""
        device = self._devices.pop(socket.inet_aton(self.address(name)))
        asyncio.get_running_loop().remove_reader(device)
        os.close(device)

    def _forward(self, name: str, device: int) -> None:
        packet = os.read(device, _PACKET_BYTES)
        if packet[0] >> 4 != 4:
            return  # the kernel looks for routers of IPv6
        if name in self.cut or self._random.random() < self._loss:
            self.lost += 1
            return
        self.passed += 1
        asyncio.get_running_loop().call_later(self._delay_seconds, self._deliver, packet)

    def _deliver(self, packet: bytes) -> None:
        device = self._devices.get(packet[_DESTINATION])
        if device is None or any(self._devices[socket.inet_aton(self.address(each))] == device for each in self.cut):
            return
        with suppress(OSError):  # it has gone down meanwhile
            os.write(device, packet)


@asynccontextmanager
async def network(names: Sequence[str], *, delay_seconds: float, loss: float) -> AsyncIterator[Network]:
    """Namespaces with these names, whose packets to each other come so late, and of which so large a part is lost.

    Skips the test where this process may not make any.
    """
    made = Network(delay_seconds=delay_seconds, loss=loss)
    async with AsyncExitStack() as stack:
        for number, name in enumerate(names, 1):
            _ip("netns", "add", name)
            stack.callback(_ip, "netns", "del", name)
            _ip("-n", name, "link", "set", "lo", "up")
            made.join(name, _opened_device(name))
            stack.callback(made.leave, name)
            _ip("-n", name, "addr", "add", f"10.99.0.{number}/24", "dev", _DEVICE)
            _ip("-n", name, "link", "set", _DEVICE, "up")
        yield made


def _ip(*words: str) -> None:
    try:
        done = subprocess.run(("ip", *words), capture_output=True, text=True, check=False)
    except FileNotFoundError:
        pytest.skip("there is no ip on this machine, so it has no namespaces for a test: apt-get install iproute2")
    if done.returncode:
        pytest.skip(f"this machine makes no namespaces for a test: ip {' '.join(words)}: {done.stderr.strip()}")


def _opened_device(name: str) -> int:
    """The descriptor of a TUN device in a namespace."""
    with inside(name):
        try:
            device = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
            fcntl.ioctl(device, _ATTACH, struct.pack("16sH", _DEVICE.encode(), _TUN_WITHOUT_HEAD))
        except OSError as error:
            pytest.skip(f"this machine has no TUN devices for a test: {error.strerror}")
    return device


@contextmanager
def inside(name: str) -> Iterator[None]:
    """This thread makes its sockets in a namespace. Nothing may be awaited meanwhile."""
    with _HERE.open("rb") as here, Path(f"/run/netns/{name}").open("rb") as there:
        _enter(there.fileno())
        try:
            yield
        finally:
            _enter(here.fileno())


def _enter(namespace: int) -> None:
    library = ctypes.CDLL(None, use_errno=True)
    if library.setns(namespace, _NEW_NETWORK):
        raise OSError(ctypes.get_errno(), "setns")


@asynccontextmanager
async def bridge_into(name: str, port: int) -> AsyncIterator[int]:
    """A port on loopback of this process that leads to `port` on loopback of a namespace."""

    def connected() -> socket.socket:
        with inside(name):
            return socket.create_connection(("127.0.0.1", port))

    listener = socket.create_server(("127.0.0.1", 0))
    async with _bridge(listener, connected):
        yield int(listener.getsockname()[1])


@asynccontextmanager
async def bridge_out_of(name: str, port: int) -> AsyncIterator[None]:
    """`port` on loopback of a namespace leads to the same port on loopback of this process."""
    with inside(name):
        listener = socket.create_server(("127.0.0.1", port))
    async with _bridge(listener, lambda: socket.create_connection(("127.0.0.1", port))):
        yield


@asynccontextmanager
async def _bridge(listener: socket.socket, connected: Callable[[], socket.socket]) -> AsyncIterator[None]:
    async def carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            there = connected()
        except OSError:
            writer.transport.abort()  # as the other side would refuse
            return
        its_reader, its_writer = await asyncio.open_connection(sock=there)
        await asyncio.gather(_pump(reader, its_writer), _pump(its_reader, writer))

    server = await asyncio.start_server(carry, sock=listener)
    try:
        yield
    finally:
        server.close()


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Carries bytes until one side ends."""
    with suppress(ConnectionError):
        while data := await reader.read(_PACKET_BYTES):
            writer.write(data)
            await writer.drain()
    writer.close()
