"""What clients have to show."""

from __future__ import annotations

from typing import Any

import pytest

from ingress.objects.gateway import Gateway
from ingress.translation.gateway.client_validation import (
    named_authorities,
    read_validation,
    validation_of,
    with_validation,
)
from ingress.translation.gateway.grants import Grants
from tests.unit.ingress.cluster import inventory
from tests.unit.ingress.translation.gateway.objects import gateway, read_one

GRANTS = Grants(inventory())


def reference(name: str = "ca", **more: str) -> dict[str, str]:
    return {"group": "", "kind": "ConfigMap", "name": name, **more}


def asking(*references: dict[str, str], **more: Any) -> Gateway:
    frontend = {"default": {"validation": {"caCertificateRefs": references, **more}}}
    return gateway(tls={"frontend": frontend})


def problem(_: str, name: str) -> str:
    return "" if name == "ca" else "is bad: correct it."


def test_a_port_may_have_its_own() -> None:
    own = {"port": 8443, "tls": {"validation": {"caCertificateRefs": [reference("other")]}}}
    default = {"validation": {"caCertificateRefs": [reference()]}}
    item = gateway(tls={"frontend": {"default": default, "perPort": [own, {"port": 9443}]}})
    names = [
        said.ca_certificate_refs[0].name if (said := validation_of(item, port)) else "" for port in (443, 8443, 9443)
    ]
    assert names == ["ca", "other", ""]
    assert validation_of(gateway(), 443) is None
    assert named_authorities(item, GRANTS) == {("infra", "ca"), ("infra", "other")}


@pytest.mark.parametrize(
    ("references", "resolved", "refused"),
    [
        ([reference()], None, None),
        ([reference(), reference("bad")], "InvalidCACertificateRef", None),
        ([reference("bad")], "InvalidCACertificateRef", "NoValidCACertificate"),
        ([reference(kind="Secret")], "InvalidCACertificateKind", "NoValidCACertificate"),
        ([reference(namespace="shop")], "RefNotPermitted", "NoValidCACertificate"),
    ],
)
def test_what_is_wrong_is_told_and_nothing_left_closes(
    references: list[dict[str, str]], resolved: str | None, refused: str | None
) -> None:
    item = asking(*references)
    said = validation_of(item, 443)
    assert said is not None
    read = read_validation(said, item, GRANTS, problem)
    found = with_validation(read_one(), read)
    assert (found.unresolved.reason if found.unresolved else None) == resolved
    assert (found.refused.reason if found.refused else None) == refused
    assert found.serves is (refused is None)


def test_an_unknown_mode_lets_nobody_in() -> None:
    item = asking(reference(), mode="Odd")
    said = validation_of(item, 443)
    assert said is not None
    assert read_validation(said, item, GRANTS, problem).refused is not None
    insecure = asking(reference(), mode="AllowInsecureFallback")
    said = validation_of(insecure, 443)
    assert said is not None
    assert read_validation(said, insecure, GRANTS, problem).is_insecure
