"""Users and certificates of clients reach every worker, follow their Secrets, and are shown on no page."""

from __future__ import annotations

import asyncio
from pathlib import Path

import trustme

from tests.integration.manifests import Document, ingress, path, rule
from tests.integration.running import Zonal, running
from tests.integration.shop import HOST, Shop, shop
from tests.integration.test_client_certificates import CERTIFICATE, CLIENTS, OTHERS, asked, authority
from tests.integration.test_sign_in import OF_BAR, basic, users
from tests.integration.wire import get

GUARDED = "guarded.test"
MANY = 20
"""Connections of which each of two workers gets some: none would be a chance of 2 to the power of -19."""


def said(**annotations: str) -> dict[str, str]:
    return {f"nginx.ingress.kubernetes.io/{key.replace('_', '-')}": text for key, text in annotations.items()}


def documents() -> tuple[Document, ...]:
    return (
        ingress("web", rule(HOST, path("/", "cart")), annotations=said(auth_type="basic", auth_secret="pw")),
        ingress(
            "guarded",
            rule(GUARDED, path("/", "cart")),
            tls=[{"hosts": [GUARDED], "secretName": "cert"}],
            annotations=said(auth_tls_secret="shop/clients"),
        ),
        CERTIFICATE,
    )


async def sign_ins(zonal: Zonal, password: str) -> set[int]:
    answers = await asyncio.gather(*(get(zonal.http_port, HOST, "/", basic("foo", password)) for _ in range(MANY)))
    return {answer.status for answer in answers}


async def shown(zonal: Zonal, issuer: trustme.CA) -> set[int]:
    answers = await asyncio.gather(*(asked(zonal.https_port, GUARDED, GUARDED, issuer) for _ in range(MANY)))
    return {answer.status for answer in answers}


def write_secrets(opened: Shop, stored: str, issuer: trustme.CA) -> None:
    opened.folder.write("secrets.yaml", users("pw", f"foo:{stored}\n"), authority("clients", issuer))


async def test_both_workers_know_the_users_and_the_authority_and_follow_them(tmp_path: Path) -> None:
    async with shop(tmp_path, {"zone-a": 1}) as opened:
        opened.folder.write("web.yaml", *documents())
        write_secrets(opened, OF_BAR, CLIENTS)
        async with running(opened.place, "--workers", "2") as zonal:
            assert await sign_ins(zonal, "bar") == {200}
            assert await sign_ins(zonal, "wrong") == {401}
            assert await shown(zonal, CLIENTS) == {200}
            assert await shown(zonal, OTHERS) == {400}
            page = str(await zonal.model())
            assert "shop/pw:auth-file" in page
            for secret in (OF_BAR, "foo", "BEGIN"):
                assert secret not in page
            generation = await zonal.generation()
            write_secrets(opened, "{PLAIN}new", OTHERS)
            await zonal.reaches_generation(generation + 1, seconds=20.0)
            assert await sign_ins(zonal, "bar") == {401}
            assert await sign_ins(zonal, "new") == {200}
            assert await shown(zonal, OTHERS) == {200}
