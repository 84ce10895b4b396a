"""A whole dump moves: `zonal migrate --to gateway` writes objects that answer as the Ingresses do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import trustme

from ingress.migration.gateway.command import run_move
from ingress.migration.writing import MigrateOptions
from tests.integration.manifests import Document, ManifestFolder
from tests.unit.ingress.migration.dumped import CONTEXT, nginx, settings
from tests.unit.ingress.migration.test_writing import documents


def move(tmp_path: Path, capsys: pytest.CaptureFixture[str], *ingresses: dict[str, Any], **changes: Any) -> str:
    ManifestFolder(tmp_path / "old").write("all.yaml", *ingresses)
    run_move(MigrateOptions(source=tmp_path / "old", output=tmp_path / "new", context=CONTEXT, **changes))
    return capsys.readouterr().out


def with_tls(document: dict[str, Any], secret: str = "cert") -> dict[str, Any]:
    host = document["spec"]["rules"][0]["host"]
    document["spec"]["tls"] = [{"hosts": [host], "secretName": secret}]
    return document


def test_plain_ingresses_are_answered_the_same(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told = move(tmp_path, capsys, nginx("cart", "/cart"), nginx("rest", "/", "web"), nginx("b", "/", host="b.test"))
    assert "both answer the same" in told
    kinds = [each["kind"] for each in documents(tmp_path / "new")]
    assert sorted(kinds) == ["Gateway", "GatewayClass", "HTTPRoute", "HTTPRoute", "HTTPRoute"]


def test_tls_canaries_and_limits_are_answered_the_same(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main = with_tls(nginx("cart", "/cart", limit_rps="5", allowlist_source_range="10.0.0.0/8"))
    beside = nginx("next", "/cart", "next", canary="true", canary_by_header="x-next", canary_weight="10")
    told = move(tmp_path, capsys, main, beside)
    assert "both answer the same" in told
    assert "limit-rps               becomes our annotation zonal-ingress.io/limit-rps" in told


def test_two_namespaces_with_one_host_share_its_listeners(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = with_tls(nginx("other", "/other", "web"), "second")
    other["metadata"]["namespace"] = "blog"
    told = move(tmp_path, capsys, with_tls(nginx("cart", "/cart")), other)
    assert "both answer the same" in told
    grants = [each for each in documents(tmp_path / "new") if each["kind"] == "ReferenceGrant"]
    assert [each["metadata"]["namespace"] for each in grants] == ["blog", "shop"]


def test_a_protection_without_a_form_is_not_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told = move(tmp_path, capsys, nginx("cart", auth_url="http://auth.test"), nginx("web", host="b.test"))
    assert "shop/cart: stays an Ingress" in told
    routes = [each for each in documents(tmp_path / "new") if each["kind"] == "HTTPRoute"]
    assert [each["metadata"]["name"] for each in routes] == ["web"]


def test_what_differs_is_listed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told = move(tmp_path, capsys, nginx("old", "/v1(/|$)(.*)", rewrite_target="/$2"), nginx("w", host="*.b.test"))
    assert "http://shop.test/V1: Service shop/cart as /, and now 404" in told
    assert "http://a.b.b.test/: 404, and now Service shop/cart" in told
    assert "http://shop.test/v1/more" not in told


def test_comments_and_settings_go_along(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = ManifestFolder(tmp_path / "old")
    folder.write("all.yaml", nginx("cart"), settings(proxy_read_timeout="5"))
    text = (folder.place / "all.yaml").read_text().replace("  name: cart\n", "  name: cart  # the cart\n", 1)
    folder.write_text("all.yaml", text)
    run_move(MigrateOptions(source=folder.place, output=tmp_path / "new", context=CONTEXT))
    assert "#" in text
    assert "the cart" in (tmp_path / "new" / "all.yaml").read_text()
    assert "ConfigMap zonal/zonal" in capsys.readouterr().out


def test_the_certificate_that_endpoints_see_is_shown_by_the_gateway(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    authority = trustme.CA()
    shown = authority.issue_cert("client.internal")
    both = {
        "ca.crt": authority.cert_pem.bytes().decode(),
        "tls.crt": shown.cert_chain_pems[0].bytes().decode(),
        "tls.key": shown.private_key_pem.bytes().decode(),
    }
    secret: Document = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "client", "namespace": "shop"},
        "stringData": both,
    }
    secured = nginx(
        "cart",
        backend_protocol="HTTPS",
        proxy_ssl_secret="shop/client",
        proxy_ssl_verify="on",
        proxy_ssl_name="cart.internal",
    )
    ManifestFolder(tmp_path / "old").write("secret.yaml", secret)
    told = move(tmp_path, capsys, secured)
    assert "BackendTLSPolicy (ca.crt), and spec.tls.backend of the Gateway (tls.crt)" in told
    written = {(each["kind"], each["metadata"]["name"]): each for each in documents(tmp_path / "new")}
    reference = {"name": "client", "namespace": "shop"}
    assert written["Gateway", "zonal"]["spec"]["tls"] == {"backend": {"clientCertificateRef": reference}}
    assert ("ReferenceGrant", "zonal-shown-certificate") in written


def test_without_secrets_in_the_dump_nobody_is_made_an_authority(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    secured = nginx(
        "cart",
        backend_protocol="HTTPS",
        proxy_ssl_secret="shop/client",
        proxy_ssl_verify="on",
        proxy_ssl_name="cart.internal",
    )
    assert "Secret shop/client with ca.crt is not in the dump: add it." in move(tmp_path, capsys, secured)
    assert "ConfigMap" not in {each["kind"] for each in documents(tmp_path / "new")}
