"""A tenant who writes Ingresses for the hosts of another one changes nothing about that one's requests."""

from __future__ import annotations

import asyncio
import base64
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple

import pytest
import trustme

from tests.fakes.backends import EchoEndpoint
from tests.fakes.stopwatch import Stopwatch
from tests.integration.manifests import (
    Document,
    ManifestFolder,
    config_map,
    endpoint_slice,
    ingress,
    ingress_class,
    path,
    rule,
    service,
    tls_secret,
)
from tests.integration.running import Zonal, running
from tests.integration.wire import Connection, get, trusting

_PREFIX = "nginx.ingress.kubernetes.io/"
_OWN, _THEIRS = (trustme.CA(key_type=trustme.KeyType.ECDSA) for _ in range(2))
_TLS, _PLAIN, _GATED = "tls.test", "plain.test", "gated.test"
_HOSTS = (_TLS, _PLAIN, _GATED)
_USERS = base64.b64encode(b"user:{SHA}W6ph5Mm5Pz8GgiULbPgzG37mj9g=").decode()
_WIDE = "/[a-z/]*(a text that makes the expression long)?.*"


class Attack(NamedTuple):
    """What the younger tenant says about all hosts of the older one. `paths` are its paths there.

    `tls` are the names of its TLS section; None: it has none.
    """

    annotations: Mapping[str, str] = {}
    paths: tuple[str, ...] = ("/theirs",)
    kind: str = "ImplementationSpecific"
    tls: tuple[str, ...] | None = None


ATTACKS = {
    "the same paths": Attack(paths=("/", "/free"), kind="Prefix"),
    "a certificate": Attack(tls=_HOSTS),
    "a certificate for all": Attack(tls=("*.test",)),
    "a certificate for no host": Attack(tls=()),
    "ciphers": Attack({"ssl-ciphers": "AES128-SHA"}),
    "client certificates": Attack({"auth-tls-secret": "young/authority", "auth-tls-verify-client": "on"}),
    "client certificates of nobody": Attack({"auth-tls-secret": "young/none"}),
    "expressions": Attack({"use-regex": "true"}, ("/theirs/[0-9]+",)),
    "rewriting": Attack({"rewrite-target": "/$2"}, ("/theirs(/|$)(.*)",)),
    "an expression for everything": Attack({"use-regex": "true"}, (_WIDE, "/PRIVATE/(.*)")),
    "an expression that is refused": Attack({"use-regex": "true"}, ("/(?!x).*",)),
    "expressions that are too large": Attack({"use-regex": "true"}, tuple(f"/[ab]*a[ab]{{{n}}}c" for n in (200, 220))),
    "a start page": Attack({"app-root": "/theirs/and/a/long/path"}, ("/theirs/and/a/long/path",)),
    "other names": Attack({"server-alias": "plain.test,gated.test", "from-to-www-redirect": "true"}),
    "passing TLS": Attack({"ssl-passthrough": "true"}, ("/", "/theirs")),
    "a server-snippet": Attack({"server-snippet": "return 403;"}),
    "a canary": Attack({"canary": "true", "canary-weight": "100"}, ("/", "/free", "/private")),
    "ranges": Attack({"whitelist-source-range": "192.0.2.1/32"}),
}
"""By what the younger tenant tries."""


def _issued(authority: trustme.CA, *names: str) -> tuple[bytes, bytes]:
    issued = authority.issue_cert(*names, key_type=trustme.KeyType.ECDSA)
    return issued.cert_chain_pems[0].bytes(), issued.private_key_pem.bytes()


def _secret(name: str, namespace: str, key: str, text: str) -> Document:
    metadata = {"name": name, "namespace": namespace}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": {key: text}}


def _aged(year: int, document: Document) -> Document:
    document["metadata"]["creationTimestamp"] = f"{year}-01-01T00:00:00Z"
    return document


def _older(endpoint: EchoEndpoint) -> list[Document]:
    chain, key = _issued(_OWN, _TLS)
    signing_in = {f"{_PREFIX}auth-type": "basic", f"{_PREFIX}auth-secret": "users"}
    start = {f"{_PREFIX}app-root": "/free"}
    tls = [{"hosts": [_TLS], "secretName": "own"}]
    documents = [
        ingress("tls", rule(_TLS, path("/", "app"), path("/free", "app")), tls=tls),
        ingress("tls-private", rule(_TLS, path("/private", "app")), annotations=signing_in),
        ingress("plain", rule(_PLAIN, path("/free", "app"), path("/", "app")), annotations=start),
        ingress("gated", rule(_GATED, path("/", "app")), annotations=signing_in),
        ingress("gated-free", rule(_GATED, path("/free", "app"))),
    ]
    return [
        service("app"),
        endpoint_slice(endpoint),
        tls_secret("own", chain=chain, key=key),
        _secret("users", "shop", "auth", _USERS),
        *(_aged(2020, each) for each in documents),
    ]


def _younger(attack: Attack, endpoint: EchoEndpoint, number: int) -> list[Document]:
    """The manifests of an attack, and a host by which a test sees that they are served."""
    chain, key = _issued(_THEIRS, *_HOSTS)
    rules = [rule(host, *(path(each, "app", kind=attack.kind) for each in attack.paths)) for host in _HOSTS]
    names = None if attack.tls is None else [{"hosts": list(attack.tls), "secretName": "theirs"}]
    annotations = {_PREFIX + name: text for name, text in attack.annotations.items()}
    authority = base64.b64encode(_THEIRS.cert_pem.bytes()).decode()
    return [
        service("app", namespace="young"),
        endpoint_slice(endpoint, namespace="young"),
        tls_secret("theirs", chain=chain, key=key, namespace="young"),
        _secret("authority", "young", "ca.crt", authority),
        _aged(2024, ingress("attack", *rules, namespace="young", tls=names or (), annotations=annotations)),
        _aged(2024, ingress("seen", rule(f"seen-{number}.test", path("/", "app")), namespace="young")),
    ]


Seen = dict[str, tuple[int, str]]


async def _seen(zonal: Zonal) -> Seen:
    """What clients of the older tenant get: the status, and the endpoint or the target of a redirect."""
    trusted = trusting(_OWN.cert_pem.bytes())
    seen: Seen = {}
    for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
        trusted.maximum_version = version
        async with await Connection.open(zonal.https_port, tls=trusted, server_name=_TLS) as connection:
            for target in ("/", "/x", "/free", "/freedom", "/private", "/PRIVATE", "/private/x", f"/{'a' * 300}"):
                seen[f"{version.name} {target}"] = await _answer(connection, _TLS, target)
    for host in (_TLS, _PLAIN, _GATED):
        async with await Connection.open(zonal.http_port) as connection:
            for target in ("/", "/free", "/freedom", "/FREE", "/private", "/a.b"):
                seen[f"{host} {target}"] = await _answer(connection, host, target)
    return seen


async def _answer(connection: Connection, host: str, target: str) -> tuple[int, str]:
    answer = await connection.get(host, target)
    what = answer.json()["endpoint"] if answer.status == 200 else answer.field("location")
    return answer.status, what or ""


async def _serves(zonal: Zonal, host: str) -> None:
    """Wait until requests for a host are answered."""
    watch = Stopwatch()
    while (await get(zonal.http_port, host)).status == 404:
        assert watch.within(30), zonal.stderr
        await asyncio.sleep(0.01)


@asynccontextmanager
async def _stage(place: Path, *options: str) -> AsyncIterator[tuple[Zonal, ManifestFolder, EchoEndpoint]]:
    """A process that serves the older tenant, its folder, and the endpoint of the younger one."""
    own, theirs = EchoEndpoint("app"), EchoEndpoint("app")
    await own.start()
    await theirs.start()
    folder = ManifestFolder(place / "manifests")
    folder.write("class.yaml", ingress_class(), config_map(allow_snippet_annotations="true"))
    folder.write("older.json", *_older(own))
    try:
        async with running(folder.place, *options) as zonal:
            yield zonal, folder, theirs
    finally:
        await own.stop()
        await theirs.stop()


async def test_no_ingress_of_another_tenant_changes_what_clients_of_a_host_get(tmp_path: Path) -> None:
    async with _stage(tmp_path) as (zonal, folder, theirs):
        before = await _seen(zonal)
        assert before["TLSv1_3 /private"][0] == 401
        assert before[f"{_GATED} /freedom"][0] == 401
        changed = {}
        for number, (name, attack) in enumerate(ATTACKS.items()):
            folder.write("younger.json", *_younger(attack, theirs, number))
            await _serves(zonal, f"seen-{number}.test")
            after = await _seen(zonal)
            if after != before:
                changed[name] = {each: (before[each], after[each]) for each in before if before[each] != after[each]}
        assert changed == {}


@pytest.mark.parametrize(("options", "shown"), [((), _THEIRS), (("--default-ssl-certificate=shop/own",), _OWN)])
async def test_a_host_without_a_certificate_shows_that_of_another_namespace_unless_there_is_a_default(
    tmp_path: Path, options: tuple[str, ...], shown: trustme.CA
) -> None:
    async with _stage(tmp_path, *options) as (zonal, folder, theirs):
        folder.write("younger.json", *_younger(ATTACKS["a certificate"], theirs, 0))
        await _serves(zonal, "seen-0.test")
        trusted = trusting(shown.cert_pem.bytes())
        trusted.check_hostname = False  # a default certificate has names of its own
        async with await Connection.open(zonal.https_port, tls=trusted, server_name=_PLAIN) as connection:
            assert (await connection.get(_PLAIN, "/free")).status == 200
        assert (await get(zonal.http_port, _PLAIN, "/free")).status == 200
