"""Whatever the webhook is sent, it answers, and in bounded time."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingress.objects.kinds import Ingress, IngressTls
from ingress.settings.table.option import NGINX_PREFIX, OWN_PREFIX
from ingress.webhook.admission import REVIEW_BYTES, VALUES_LIMIT, AdmissionRefusal, review
from tests.properties import examples
from tests.unit.ingress.cluster import backend, ingress, path, rule
from tests.unit.ingress.reviews import BAD, CONTEXT, body, checked, document

MALFORMED: list[bytes] = [
    b"",
    b"null",
    b"[]",
    b"{}",
    b"\xff",
    b"[" * 100_000,
    b'{"request":' * 50_000,
    b"9" * 5000,
    body(document(BAD)).replace(b"admission.k8s.io/v1", b"admission.k8s.io/v1beta1"),
    body(document(BAD)).replace(b"AdmissionReview", b"Status"),
    body(document(BAD), uid=""),
    body(document(BAD), uid="u" * 300),
    body(document(BAD), uid=7),
    body(document(BAD), kind={"kind": "Ingress"}),
    body(None),
    body([document(BAD)]),
    body({"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "spec": {"ingressClassName": "zonal"}}),
    body({**document(BAD), "kind": "Ingres"}),
    body({**document(BAD), "apiVersion": "v1", "kind": "Service"}),
    body(document(BAD)).replace(b'"object":{', b'"object":{"x":' + b"[" * 900 + b"]" * 900 + b","),
    body(document(BAD)).replace(b'"object":{', b'"object":{"x":' + b"[" * 9000 + b"]" * 9000 + b","),
]


@pytest.mark.parametrize("hostile", MALFORMED, ids=range(len(MALFORMED)))
def test_a_malformed_review_gets_no_review_but_400(hostile: bytes) -> None:
    answered = review(hostile, CONTEXT)
    if isinstance(answered, bytes):
        # Deep but not too deep, or of a kind that reads as none: answered as any other.
        assert not checked(answered)["allowed"]
    else:
        assert answered.status == 400
        assert "BAD" not in answered.message.upper()


def test_a_review_over_the_limits_gets_413() -> None:
    whole = body(document(ingress("web", rule())))
    assert isinstance(review(whole.ljust(REVIEW_BYTES), CONTEXT), bytes)
    over = review(whole.ljust(REVIEW_BYTES + 1), CONTEXT)
    assert isinstance(over, AdmissionRefusal) and over.status == 413
    many = review(body({**document(BAD), "x": [[]] * VALUES_LIMIT}), CONTEXT)
    assert isinstance(many, AdmissionRefusal) and many.status == 413


LARGE: dict[str, Callable[[int], Ingress]] = {
    "paths": lambda count: ingress("web", rule("a.test", *(path(f"/{number}") for number in range(count)))),
    "bad paths": lambda count: ingress("web", rule("a.test", *(path(f"{number}") for number in range(count)))),
    "rules with a default": lambda count: ingress(
        "web", *(rule(f"h{number}.test") for number in range(count)), default=backend()
    ),
    "bad TLS hosts": lambda count: ingress(
        "web", rule(), tls=[IngressTls(tuple(f"H{number}" for number in range(4 * count)))]
    ),
    "unknown annotations": lambda count: ingress(
        "web", rule(), annotations={f"{OWN_PREFIX}{number}": "" for number in range(4 * count)}
    ),
    "protective annotations": lambda count: ingress(
        "web", rule(), annotations={f"{NGINX_PREFIX}limit-{number}": "" for number in range(4 * count)}
    ),
}


@pytest.mark.large
@pytest.mark.parametrize("shape", LARGE)
def test_the_time_of_a_judgement_grows_no_faster_than_the_object(shape: str) -> None:
    few, many = (body(document(LARGE[shape](count))) for count in (300, 2400))
    # Eight times the size: 8 where linear, 64 where quadratic.
    assert cost_seconds(many) < 24 * cost_seconds(few)


def cost_seconds(whole: bytes) -> float:
    """CPU seconds of a review, the least of several as others share the machine."""
    spent = []
    for _ in range(3):
        before = time.process_time()
        answered = review(whole, CONTEXT)
        spent.append(time.process_time() - before)
        assert isinstance(answered, bytes)
    return min(spent)


WHOLE = body(
    document(ingress("web", rule(), default=backend(), tls=[IngressTls(("a.test",), "cert")], annotations={"a": "b"})),
    old=document(BAD),
)


def places(value: Any, above: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The way to each value within a document."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for step, each in inner:
        yield (*above, step)
        yield from places(each, (*above, step))


def put(whole: Any, place: tuple[Any, ...], value: object) -> None:
    """Put a value where a place leads, if it still does."""
    for step in place[:-1]:
        if not isinstance(whole, dict | list) or (isinstance(whole, dict) and step not in whole):
            return
        if isinstance(whole, list) and not (isinstance(step, int) and step < len(whole)):
            return
        whole = whole[step]
    if isinstance(whole, dict):
        whole[str(place[-1])] = value


LEAVES = st.none() | st.booleans() | st.integers(-5, 99999) | st.text(max_size=8) | st.just("zonal")
JSON = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=8,
)
CHANGES = st.lists(
    st.tuples(st.sampled_from(sorted(places(msgspec.json.decode(WHOLE)), key=str)), JSON), min_size=1, max_size=4
)


@pytest.mark.large
@given(CHANGES, st.sampled_from(["CREATE", "UPDATE", "DELETE"]))
@examples(200)
def test_any_json_gets_a_review_or_a_refusal(changes: list[tuple[tuple[Any, ...], object]], operation: str) -> None:
    whole = msgspec.json.decode(WHOLE)
    whole["request"]["operation"] = operation
    for place, value in changes:
        put(whole, place, value)
    assert_is_answered(msgspec.json.encode(whole))


@given(st.binary(max_size=40), st.integers(0, 600), st.integers(0, 600))
@examples(150)
def test_any_bytes_get_a_review_or_a_refusal(junk: bytes, start: int, end: int) -> None:
    whole = body(document(ingress("web", rule())))
    assert_is_answered(whole[:start] + junk + whole[end:])


def assert_is_answered(hostile: bytes) -> None:
    answered = review(hostile, CONTEXT)
    if isinstance(answered, AdmissionRefusal):
        assert answered.status in (400, 413)
        assert answered.message.isprintable()
    else:
        checked(answered)
    assert review(hostile, CONTEXT) == answered
