"""Pieces: bounded in size, whole in content, and the receiver's own."""

from __future__ import annotations

import asyncio

import pytest

from balancer.runtime import calls
from balancer.runtime.reading import MEMORY, PIECE, PIECE_BYTES, ReadsPieces
from tests.fakes.sockets import until

TOTAL_BYTES = 4 * 1024 * 1024


@pytest.mark.parametrize("nbytes", [0, 1, 1024, 1025, PIECE_BYTES])
def test_what_was_taken_stays_when_the_buffer_is_filled_again(nbytes: int) -> None:
    PIECE[:] = b"a" * PIECE_BYTES
    piece = calls.taken(MEMORY, nbytes)
    PIECE[:] = b"b" * PIECE_BYTES
    assert piece == b"a" * nbytes
    assert type(piece) is bytes


class Receiver(ReadsPieces):
    def __init__(self) -> None:
        self.pieces: list[bytes] = []
        self.lost = False

    def data_received(self, data: bytes) -> None:
        self.pieces.append(data)

    def connection_lost(self, exc: Exception | None) -> None:
        self.lost = True


async def test_bytes_come_in_bounded_pieces_that_later_ones_leave_alone() -> None:
    loop = asyncio.get_running_loop()
    receivers: list[Receiver] = []

    def accept() -> Receiver:
        receivers.append(Receiver())
        return receivers[-1]

    sent = [bytes([letter]) * TOTAL_BYTES for letter in b"ab"]
    server = await loop.create_server(accept, "127.0.0.1", 0)
    async with server:
        for content in sent:
            _, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
            writer.write(content)
            writer.close()
        await until(lambda: len(receivers) == len(sent) and all(receiver.lost for receiver in receivers))
    assert sorted(b"".join(receiver.pieces) for receiver in receivers) == sent
    assert max(len(piece) for receiver in receivers for piece in receiver.pieces) <= PIECE_BYTES
