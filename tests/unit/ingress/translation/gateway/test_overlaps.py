"""Which listeners of one port say that their TLS overlaps."""

from __future__ import annotations

from typing import Any

import pytest

from ingress.translation.gateway.overlaps import with_overlaps
from tests.unit.ingress.translation.gateway.objects import read_one

TLS = {"certificateRefs": [{"name": "cert"}]}


def overlapping(*asked: dict[str, Any]) -> set[str]:
    said = ({"protocol": "HTTPS", "port": 443, "tls": TLS, **each} for each in asked)
    listeners = [read_one(name=f"{number}", **each) for number, each in enumerate(said)]
    return {each.spec.name for each in with_overlaps(listeners) if each.overlaps}


@pytest.mark.parametrize(
    ("hostnames", "found"),
    [
        (["foo.example.com", "bar.bar.example.com", "*.example.com", "example.com"], {"0", "1", "2"}),
        (["foo.example.com", "foo.example.org", "*.example.com"], {"0", "2"}),
        (["a.test", ""], {"0", "1"}),
        (["*.a.test", "*.b.a.test"], {"0", "1"}),
        (["a.test", "b.test"], set()),
        (["A.test", "*.TEST"], {"0", "1"}),
    ],
)
def test_names_that_another_listener_covers_overlap(hostnames: list[str], found: set[str]) -> None:
    assert overlapping(*({"hostname": each} for each in hostnames)) == found


def test_names_of_other_ports_and_names_without_tls_do_not_count() -> None:
    assert overlapping({"hostname": "a.test"}, {"hostname": "*.test", "port": 9000}) == set()
    assert overlapping({"hostname": "a.test"}, {"hostname": "*.test", "protocol": "HTTP", "tls": None}) == set()


def test_tls_that_passes_counts() -> None:
    passing = {"hostname": "a.test", "protocol": "TLS", "tls": {"mode": "Passthrough"}}
    assert overlapping(passing, {"hostname": "*.test"}) == {"0", "1"}


def test_a_listener_names_the_other() -> None:
    one, other = (read_one(name=each, hostname=each, protocol="HTTPS", port=443, tls=TLS) for each in ("a.t", "*.t"))
    assert [each.overlaps for each in with_overlaps([one, other])] == [other.place, one.place]
