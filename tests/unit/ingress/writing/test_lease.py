"""The Lease as bytes: what the API server takes, and what we keep of what others wrote."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingress.writing.lease import (
    Lease,
    LeaseError,
    LeaseSpec,
    decode_lease,
    encode_lease,
    lease_path,
    micro_time,
    new_lease,
)

STORED = {
    "kind": "Lease",
    "apiVersion": "coordination.k8s.io/v1",
    "metadata": {"name": "zonal-leader", "namespace": "zonal", "resourceVersion": "290", "labels": {"a": "b"}},
    "spec": {
        "holderIdentity": "pod-1",
        "leaseDurationSeconds": 30,
        "acquireTime": "2026-11-21T06:00:00.000000Z",
        "renewTime": "2026-11-21T06:00:10.000000Z",
        "leaseTransitions": 0,
    },
}


def test_a_lease_comes_back_as_it_was_with_metadata_that_we_do_not_know() -> None:
    lease = decode_lease(json.dumps(STORED).encode())
    assert lease.version == "290"
    assert lease.spec.holder_identity == "pod-1"
    assert json.loads(encode_lease(lease)) == STORED


def test_a_new_lease_has_a_name_and_no_version() -> None:
    lease = new_lease("zonal-leader", LeaseSpec(holder_identity="pod-1", lease_transitions=0))
    assert lease.version == ""
    assert json.loads(encode_lease(lease)) == {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": "zonal-leader"},
        "spec": {"holderIdentity": "pod-1", "leaseTransitions": 0},
    }


def test_an_empty_holder_is_written_and_not_left_out() -> None:
    lease = Lease("1", b"{}", LeaseSpec(holder_identity=""))
    assert json.loads(encode_lease(lease))["spec"] == {"holderIdentity": ""}


def test_fields_that_are_null_or_not_there_are_none() -> None:
    lease = decode_lease(b'{"metadata": {"resourceVersion": "1"}, "spec": {"holderIdentity": null}}')
    assert lease.spec == LeaseSpec()
    assert decode_lease(b'{"metadata": {"resourceVersion": "1"}}').spec == LeaseSpec()


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<html>502</html>",
        b"[]",
        b"\xff\xfe",
        b'{"metadata": {}}',
        b'{"metadata": 7, "spec": {}}',
        b'{"metadata": {"resourceVersion": "1"}, "spec": {"leaseDurationSeconds": "30"}}',
    ],
)
def test_what_is_no_lease_is_refused_in_one_line(body: bytes) -> None:
    with pytest.raises(LeaseError) as refused:
        decode_lease(body)
    assert "\n" not in str(refused.value)


def test_leases_are_read_by_name_and_created_in_their_collection() -> None:
    collection = "/apis/coordination.k8s.io/v1/namespaces/zonal/leases"
    assert lease_path("zonal", "leader") == f"{collection}/leader"
    assert lease_path("zonal") == collection


@pytest.mark.parametrize(
    ("epoch_seconds", "text"),
    [
        (0, "1970-01-01T00:00:00.000000Z"),
        (1795240800.25, "2026-11-21T06:00:00.250000Z"),
        (1795240810, "2026-11-21T06:00:10.000000Z"),
    ],
)
def test_a_micro_time_is_utc_with_six_digits(epoch_seconds: float, text: str) -> None:
    assert micro_time(epoch_seconds) == text


@given(st.floats(0, 4_000_000_000))
def test_every_micro_time_has_the_one_form_that_is_accepted(epoch_seconds: float) -> None:
    text = micro_time(epoch_seconds)
    assert len(text) == len("2026-11-21T06:00:00.000000Z")
    assert (text[-1], text[-8]) == ("Z", ".")
