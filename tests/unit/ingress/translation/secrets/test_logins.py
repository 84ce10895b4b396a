"""Users from Secrets: what is read, what closes the Ingress, and that no finding shows anything of a Secret."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from balancer.model.gates import BasicAuth
from balancer.model.logins import Logins
from ingress.findings import Finding, Findings, Severity, Subject
from ingress.objects.kinds import Metadata, Secret
from ingress.settings.table.access import BasicAuthOptions
from ingress.translation.denying import Denied
from ingress.translation.references import References
from ingress.translation.secrets.logins import SignInRule, read_sign_in
from tests.unit.ingress.cluster import inventory
from tests.unit.ingress.said import said

HASH = "{SHA}Ys23Ag/5IOWqZCw9QGaVDdHwH00="


def secret(namespace: str = "shop", **data: bytes) -> Secret:
    return Secret(Metadata("pw", namespace), {key: base64.b64encode(value).decode() for key, value in data.items()})


def read(
    *secrets: Secret, other_namespaces: bool = False, **annotations: Any
) -> tuple[SignInRule | None, tuple[Finding, ...]]:
    """What annotations (`_` for `-`) of an Ingress in `shop` come to."""
    options = said({name.replace("_", "-"): text for name, text in annotations.items()}).over(BasicAuthOptions())
    findings = Findings()
    rule = read_sign_in(
        options,
        references=References("shop", others_allowed=other_namespaces),
        inventory=inventory(*secrets),
        report=findings.about(Subject("Ingress", "shop", "web")),
    )
    return rule, findings.frozen()


def hashes(*secrets: Secret, **annotations: Any) -> tuple[tuple[str, str], ...]:
    rule, _ = read(*secrets, **({"auth_type": "basic", "auth_secret": "pw"} | annotations))
    assert rule is not None
    assert rule.gate.logins == rule.logins.key
    return rule.logins.hashes


def test_without_annotations_nobody_is_asked() -> None:
    assert read() == (None, ())
    assert read(auth_realm="x", auth_secret_type="auth-map", auth_type="") == (None, ())


def test_a_file_is_read_as_nginx_reads_it() -> None:
    content = f"# users\nalice:{HASH}:Alice of the shop\r\n\nnonsense\n:{HASH}\nbob:{HASH}".encode()
    assert hashes(secret(auth=content)) == (("alice", HASH), ("bob", HASH))


def test_bytes_of_names_stay_as_they_are() -> None:
    name = "Å\x85".encode()
    assert hashes(secret(auth=name + b":" + HASH.encode())) == ((name.decode("latin-1"), HASH),)


def test_the_keys_of_a_map_are_users() -> None:
    held = secret(bob=HASH.encode() + b"\nroot:" + HASH.encode(), alice=f"{HASH}:comment".encode())
    assert hashes(held, auth_secret_type="auth-map") == (("alice", HASH), ("bob", HASH))


def test_the_realm_and_the_key_are_those_of_the_gate() -> None:
    rule, findings = read(secret(auth=f"a:{HASH}".encode()), auth_type="basic", auth_secret="shop/pw", auth_realm="x y")
    assert rule == SignInRule(BasicAuth("shop/pw:auth-file", "x y"), Logins("shop/pw:auth-file", (("a", HASH),)))
    assert findings == ()


@pytest.mark.parametrize(
    ("secrets", "annotations"),
    [
        ((), {"auth_type": "basic"}),
        ((), {"auth_type": "basic", "auth_secret": "pw"}),
        ((), {"auth_secret": "pw"}),
        ((secret(other=b"x"),), {"auth_type": "basic", "auth_secret": "pw"}),
        ((Secret(Metadata("pw", "shop"), {"auth": "not base64"}),), {"auth_type": "basic", "auth_secret": "pw"}),
        ((secret("other", auth=b"a:b"),), {"auth_type": "basic", "auth_secret": "other/pw"}),
        ((secret("other", auth=b"a:b"),), {"auth_type": "basic", "auth_secret": "pw"}),
    ],
)
def test_users_that_cannot_be_read_close_the_ingress(secrets: tuple[Secret, ...], annotations: dict[str, Any]) -> None:
    with pytest.raises(Denied):
        read(*secrets, **annotations)


def test_another_namespace_counts_where_the_operator_allows_it() -> None:
    rule, _ = read(
        secret("other", auth=f"a:{HASH}".encode()), other_namespaces=True, auth_type="basic", auth_secret="other/pw"
    )
    assert rule is not None
    assert rule.logins.key == "other/pw:auth-file"


def test_what_switches_off_in_ingress_nginx_is_said_and_does_not() -> None:
    held = secret(auth=f"a:{HASH}".encode())
    rule, findings = read(held, auth_secret="pw", auth_realm="off")
    assert rule is not None
    assert {finding.reason for finding in findings} == {"SignInWithoutType", "SignInRealmOff"}


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (f"a:{HASH}\nb:$y$secret-of-b\nc:\n", "2 of 3 users"),
        ("", "no users"),
        ("$2y$31$" + "x" * 53, "no users"),
    ],
)
def test_users_who_can_never_pass_are_counted_and_not_named(content: str, said: str) -> None:
    _, (finding,) = read(secret(auth=content.encode()), auth_type="basic", auth_secret="pw")
    assert said in finding.message
    assert (finding.reason, finding.severity) == ("SignInUnusable", Severity.DEGRADED)
    assert "secret-of-b" not in finding.message + finding.effect


@pytest.mark.parametrize("content", ["a:x\nb:y", ""])
def test_nothing_is_told_of_users_of_another_namespace(content: str) -> None:
    held = secret("other", auth=content.encode())
    _, (finding,) = read(held, other_namespaces=True, auth_type="basic", auth_secret="other/pw")
    assert finding.reason == "SignInUnusable"
    assert "users" not in finding.message
    assert finding.effect == "Users get 401."


@given(st.binary(max_size=200))
def test_no_content_raises_anything_but_denied_or_is_shown(content: bytes) -> None:
    rule, findings = read(secret(auth=content), auth_type="basic", auth_secret="pw")
    assert rule is not None
    assert all(finding.message.isprintable() for finding in findings)
