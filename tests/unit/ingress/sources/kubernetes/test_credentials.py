"""Kubeconfigs and service accounts are read anew, and what is wrong with them is said without what is in them."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from ingress.sources.kubernetes.credentials import BEARER, CannotConnect, Credentials, trust_of
from tests.unit.ingress.sources.kubernetes.logins import plugin

pytestmark = pytest.mark.large

POD = {"KUBERNETES_SERVICE_HOST": "fd00::1", "KUBERNETES_SERVICE_PORT": "443"}


def kubeconfig(place: Path, **user: Any) -> Path:
    document = {
        "current-context": "c",
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
        "clusters": [{"name": "c", "cluster": {"server": "http://127.0.0.1:1/"}}],
        "users": [{"name": "u", "user": user}],
    }
    place.write_text(json.dumps(document))
    return place


def service_account(place: Path, token: str) -> Credentials:
    (place / "token").write_text(token)
    (place / "ca.crt").write_text("a certificate")
    return Credentials(None, service_account=place, environment=POD)


async def test_a_pod_finds_its_place_token_and_authority(tmp_path: Path) -> None:
    configuration = await service_account(tmp_path, "first\n").load()
    assert configuration.host == "https://[fd00::1]:443"
    assert configuration.api_key[BEARER] == "Bearer first"
    assert configuration.ssl_ca_cert == str(tmp_path / "ca.crt")
    assert configuration.verify_ssl
    assert configuration.disable_strict_ssl_verification


async def test_a_pod_follows_its_token(tmp_path: Path) -> None:
    credentials = service_account(tmp_path, "first\n")
    await credentials.load()
    (tmp_path / "token").write_text("second\n")
    assert (await credentials.renew()).api_key[BEARER] == "Bearer second"


@pytest.mark.parametrize("missing", ["token", "ca.crt"])
async def test_a_pod_without_its_files_says_so(tmp_path: Path, missing: str) -> None:
    credentials = service_account(tmp_path, "first")
    (tmp_path / missing).unlink()
    with pytest.raises(CannotConnect, match=r"the pod's service account: .* does not exist"):
        await credentials.load()


async def test_outside_of_a_pod_one_needs_a_kubeconfig(tmp_path: Path) -> None:
    with pytest.raises(CannotConnect, match="service account: Service host/port is not set"):
        await Credentials(None, service_account=tmp_path, environment={}).load()


async def test_a_kubeconfig_has_a_token_or_names_its_file(tmp_path: Path) -> None:
    configuration = await Credentials(kubeconfig(tmp_path / "a", token="inline")).load()
    assert (configuration.host, configuration.api_key[BEARER]) == ("http://127.0.0.1:1", "Bearer inline")
    (tmp_path / "token").write_text("first\n")
    credentials = Credentials(kubeconfig(tmp_path / "b", tokenFile=str(tmp_path / "token")))
    assert (await credentials.load()).api_key[BEARER] == "Bearer first"
    (tmp_path / "token").write_text("second\n")
    assert (await credentials.renew()).api_key[BEARER] == "Bearer second"


async def test_a_kubeconfig_is_read_again_once_it_has_changed(tmp_path: Path) -> None:
    place = kubeconfig(tmp_path / "a", token="first")
    credentials = Credentials(place)
    await credentials.load()
    kubeconfig(tmp_path / "b", token="second")
    os.replace(tmp_path / "b", place)
    assert (await credentials.renew()).api_key[BEARER] == "Bearer second"


async def test_a_kubeconfig_without_a_user_is_nobody(tmp_path: Path) -> None:
    assert BEARER not in (await Credentials(kubeconfig(tmp_path / "a")).load()).api_key


async def test_a_login_plugin_runs_once_until_it_is_asked_anew(tmp_path: Path) -> None:
    credentials = Credentials(kubeconfig(tmp_path / "a", exec=plugin(tmp_path)))
    assert (await credentials.load()).api_key[BEARER] == "Bearer run-1"
    assert (await credentials.renew()).api_key[BEARER] == "Bearer run-1"
    assert (await credentials.load()).api_key[BEARER] == "Bearer run-2"


async def test_a_login_that_has_expired_is_made_again(tmp_path: Path) -> None:
    expired = plugin(tmp_path, expirationTimestamp="2020-01-01T00:00:00Z")
    credentials = Credentials(kubeconfig(tmp_path / "a", exec=expired))
    assert (await credentials.load()).api_key[BEARER] == "Bearer run-1"
    assert (await credentials.renew()).api_key[BEARER] == "Bearer run-2"


async def test_a_login_plugin_that_fails_is_told_without_its_words(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    fails = {**plugin(tmp_path), "args": ["-c", "import sys; sys.exit('very-secret is expired\\nsecond line')"]}
    with pytest.raises(CannotConnect) as raised:
        await Credentials(kubeconfig(tmp_path / "a", exec=fails)).load()
    assert str(raised.value).endswith("/a: exec: the login plugin ended with 1")
    assert "very-secret" not in caplog.text


def contents(place: str | None) -> str:
    return Path(place or "").read_text()


async def test_a_login_may_be_a_client_certificate(tmp_path: Path) -> None:
    status = {"clientCertificateData": "a certificate", "clientKeyData": "a key"}
    place = kubeconfig(tmp_path / "a", exec=plugin(tmp_path, **status))
    place.write_text(place.read_text().replace("http:", "https:"))
    configuration = await Credentials(place).load()
    assert [contents(configuration.cert_file), contents(configuration.key_file)] == ["a certificate", "a key"]


async def test_a_login_plugin_that_does_not_answer_is_given_up(tmp_path: Path) -> None:
    hangs = {**plugin(tmp_path), "args": ["-c", "import time; time.sleep(600)"]}
    with pytest.raises(CannotConnect, match="the login plugin does not answer"):
        await Credentials(kubeconfig(tmp_path / "a", exec=hangs), plugin_seconds=0.2).load()


@pytest.mark.parametrize("content", ["", "\n"])
async def test_an_empty_token_file_makes_nobody_anonymous(tmp_path: Path, content: str) -> None:
    token = tmp_path / "token"
    token.write_text(content)
    credentials = Credentials(kubeconfig(tmp_path / "a", tokenFile=str(token)))
    with pytest.raises(CannotConnect, match="the user's tokenFile is empty"):
        await credentials.load()
    token.write_text("first")
    assert (await credentials.renew()).api_key[BEARER] == "Bearer first"
    token.write_text(content)
    for again in (credentials.renew, credentials.load):
        with pytest.raises(CannotConnect, match="the user's tokenFile is empty"):
            await again()


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("a: [very-secret", "it is not YAML: line 1"),
        ("- very-secret", "it is malformed"),
        ("very-secret", "it is malformed"),
        ("current-context: x\nusers: [{name: u, user: {token: very-secret}}]", "Expected object with name x"),
        ("", "it is malformed"),
    ],
)
async def test_what_is_wrong_with_a_kubeconfig_is_said_without_its_content(
    tmp_path: Path, content: str, problem: str
) -> None:
    place = tmp_path / "kubeconfig"
    place.write_text(content)
    with pytest.raises(CannotConnect) as raised:
        await Credentials(place).load()
    assert problem in str(raised.value)
    assert str(place) in str(raised.value)
    assert "very-secret" not in str(raised.value)
    assert "\n" not in str(raised.value)


async def test_a_kubeconfig_that_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(CannotConnect, match="No such file or directory"):
        await Credentials(tmp_path / "none").load()


async def test_a_kubeconfig_may_be_several_files_of_which_some_are_missing(tmp_path: Path) -> None:
    first, second = kubeconfig(tmp_path / "a", token="first"), kubeconfig(tmp_path / "b", token="second")
    several = os.pathsep.join(map(str, (tmp_path / "none", second, first)))
    credentials = Credentials(Path(several))
    assert (await credentials.load()).api_key[BEARER] == "Bearer second"
    kubeconfig(second, token="third, and longer")
    assert (await credentials.renew()).api_key[BEARER] == "Bearer third, and longer"


async def test_a_context_is_chosen_by_its_name(tmp_path: Path) -> None:
    document = json.loads(kubeconfig(tmp_path / "a", token="first").read_text())
    document["users"].append({"name": "other", "user": {"token": "second"}})
    document["contexts"].append({"name": "other", "context": {**document["contexts"][0]["context"], "user": "other"}})
    (tmp_path / "a").write_text(json.dumps(document))
    assert (await Credentials(tmp_path / "a", context="other").load()).api_key[BEARER] == "Bearer second"
    with pytest.raises(CannotConnect, match="nowhere"):
        await Credentials(tmp_path / "a", context="nowhere").load()


async def test_a_user_with_a_hole_does_not_show_the_rest(tmp_path: Path) -> None:
    user = {"auth-provider": {"name": "oidc", "config": {"refresh-token": "very-secret", "idp-issuer-url": "x"}}}
    with pytest.raises(CannotConnect) as raised:
        await Credentials(kubeconfig(tmp_path / "a", **user)).load()
    assert "Expected key client-id" in str(raised.value)
    assert "{" not in str(raised.value)


async def test_trust_changes_with_what_a_connection_is_made_with_and_not_with_a_token(tmp_path: Path) -> None:
    credentials = service_account(tmp_path, "first")
    first = trust_of(await credentials.load())
    (tmp_path / "token").write_text("second")
    assert trust_of(await credentials.renew()) == first
    (tmp_path / "ca.crt").write_text("another certificate")
    assert trust_of(await credentials.renew()) != first
