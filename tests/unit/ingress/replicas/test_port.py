"""Messages between two replicas over real sockets: what is heard, what is refused, and who does not answer."""

from __future__ import annotations

import pytest

from ingress.replicas.messages import MessageRefusal, MessageRefused
from ingress.replicas.port import NotHeard, Teller, open_port
from ingress.replicas.trust import credentials_of

SECRET = b"one secret, thirty-two bytes long"


class Ear:
    def __init__(self) -> None:
        self.heard: list[tuple[str, bytes]] = []
        self.refusal: MessageRefusal | None = None

    def hear(self, identity: str, data: bytes) -> str:
        if self.refusal is not None:
            raise MessageRefused(self.refusal)
        self.heard.append((identity, data))
        return "zone-b"


async def test_a_message_comes_with_the_identity_of_its_sender_and_the_answer_says_the_zone() -> None:
    ear, here, there = Ear(), credentials_of(SECRET), credentials_of(SECRET)
    runner, port = await open_port("127.0.0.1", 0, credentials=there, hear=ear.hear)
    teller = Teller(here)
    try:
        assert await teller.tell(f"127.0.0.1:{port}", b"hello") == ("zone-b", there.identity)
        assert ear.heard == [(here.identity, b"hello")]
        ear.refusal = MessageRefusal.OWN
        with pytest.raises(NotHeard) as own:
            await teller.tell(f"127.0.0.1:{port}", b"hello")
        assert own.value.is_own
        ear.refusal = MessageRefusal.MALFORMED
        with pytest.raises(NotHeard, match="400") as refused:
            await teller.tell(f"127.0.0.1:{port}", b"hello")
        assert not refused.value.is_own
        assert len(ear.heard) == 1
    finally:
        await teller.close()
        await runner.cleanup()


async def test_who_does_not_listen_does_not_hear() -> None:
    runner, port = await open_port("127.0.0.1", 0, credentials=credentials_of(SECRET), hear=Ear().hear)
    await runner.cleanup()
    teller = Teller(credentials_of(SECRET))
    try:
        with pytest.raises(NotHeard):
            await teller.tell(f"127.0.0.1:{port}", b"hello")
        with pytest.raises(NotHeard):
            await teller.tell("no place:at all", b"hello")
    finally:
        await teller.close()
