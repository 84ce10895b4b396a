"""The webhook as an API server meets it: TLS, AdmissionReviews, the judgement of translation."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any

import aiohttp
import msgspec
import pytest
import trustme

from ingress.settings.context import TranslationContext
from ingress.webhook.admission import review
from ingress.webhook.port import start_webhook
from tests.fakes.sockets import PATIENCE_SECONDS
from tests.integration.manifests import Document, ingress, path, rule

AUTHORITY = trustme.CA(key_type=trustme.KeyType.ECDSA)
NAME = "zonal-webhook.zonal.svc"

Review = Callable[[bytes], Awaitable[tuple[int, bytes]]]


@pytest.fixture
async def send(tmp_path: Path) -> AsyncIterator[Review]:
    """Send a body to a webhook that judges with translation."""
    issued = AUTHORITY.issue_cert(NAME, key_type=trustme.KeyType.ECDSA)
    (tmp_path / "tls.crt").write_bytes(issued.cert_chain_pems[0].bytes())
    (tmp_path / "tls.key").write_bytes(issued.private_key_pem.bytes())
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    AUTHORITY.configure_trust(context)
    judge = partial(review, context=TranslationContext())
    runner, port = await start_webhook(host="127.0.0.1", port=0, certificate_dir=tmp_path, judge=judge)
    timeout = aiohttp.ClientTimeout(total=PATIENCE_SECONDS)
    async with aiohttp.ClientSession(timeout=timeout) as session:

        async def send(body: bytes) -> tuple[int, bytes]:
            headers = {"Content-Type": "application/json"}
            url = f"https://127.0.0.1:{port}/validate?timeout=5s"
            async with session.post(url, data=body, headers=headers, ssl=context, server_hostname=NAME) as response:
                return response.status, await response.read()

        yield send
    await runner.cleanup()


def review_of(subject: Document, uid: str = "1") -> bytes:
    """What an API server sends for a created object (admission.k8s.io/v1, fields that it always gives)."""
    kind = {"group": "networking.k8s.io", "version": "v1", "kind": "Ingress"}
    resource = {"group": "networking.k8s.io", "version": "v1", "resource": "ingresses"}
    request = {
        "uid": uid,
        "kind": kind,
        "resource": resource,
        "requestKind": kind,
        "requestResource": resource,
        "name": "web",
        "namespace": "shop",
        "operation": "CREATE",
        "userInfo": {"username": "kubernetes-admin", "groups": ["system:authenticated"]},
        "object": subject,
        "oldObject": None,
        "dryRun": False,
        "options": {"kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1", "fieldManager": "kubectl-create"},
    }
    return msgspec.json.encode({"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": request})


async def judged(send: Review, subject: Document, uid: str = "1") -> dict[str, Any]:
    status, body = await send(review_of(subject, uid))
    assert status == 200
    response: dict[str, Any] = msgspec.json.decode(body)["response"]
    return response


GOOD = ingress("web", rule("shop.test", path("/", "cart")))
BAD = ingress("web", rule("Shop.test", path("/", "cart")))


async def test_a_good_ingress_is_allowed_and_a_bad_one_refused_with_what_to_change(send: Review) -> None:
    assert await judged(send, GOOD, "a-uid") == {"uid": "a-uid", "allowed": True}
    refused = await judged(send, BAD, "b-uid")
    assert (refused["uid"], refused["allowed"]) == ("b-uid", False)
    assert 'host "Shop.test" is not a lower case DNS name' in refused["status"]["message"]


async def test_what_would_be_ignored_warns(send: Review) -> None:
    annotations = {"nginx.ingress.kubernetes.io/proxy-read-timeout": "soon"}
    warned = await judged(send, {**GOOD, "metadata": {**GOOD["metadata"], "annotations": annotations}})
    assert warned["allowed"]
    assert len(warned["warnings"]) == 1


async def test_many_reviews_at_once_do_not_get_mixed_up(send: Review) -> None:
    subjects = [(str(number), (GOOD, BAD)[number % 2]) for number in range(100)]
    turns = asyncio.Semaphore(10)  # below what is refused for being too many

    async def ask(uid: str, subject: Document) -> tuple[str, str, bool]:
        async with turns:
            response = await judged(send, subject, uid)
        return uid, response["uid"], response["allowed"]

    for uid, told, allowed in await asyncio.gather(*(ask(*each) for each in subjects)):
        assert (told, allowed) == (uid, int(uid) % 2 == 0)


async def test_hostile_bodies_are_answered_and_harm_nobody(send: Review) -> None:
    whole = review_of(GOOD)
    for cut in range(0, len(whole), 16):
        status, _ = await send(whole[:cut])
        assert status == 400
    assert (await send(b"[" * 1_000_000))[0] == 400
    assert (await judged(send, GOOD))["allowed"]
