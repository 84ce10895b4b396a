"""What a real API server sends becomes records, and what none would send harms nothing but itself."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingress.objects.converting import decode
from ingress.objects.kinds import EndpointSlice, Kind, KubernetesObject, Metadata, Node, Service, ServicePort
from ingress.sources.kubernetes.decoding import (
    Bookmark,
    Changed,
    DecodingError,
    Deleted,
    Failure,
    Identity,
    Item,
    Passed,
    Unreadable,
    WatchEvent,
    decode_event,
    decode_item_of,
    decode_page,
    decode_wanted,
    message_of,
)
from tests.properties import examples
from tests.unit.ingress.sources.kubernetes.recordings import answer, lines


def contents(kind: Kind, name: str) -> list[KubernetesObject | Unreadable]:
    return [decode_item_of(kind, raw).content for raw in decode_page(answer(name)[1]).items]


def events(kind: Kind, name: str) -> list[WatchEvent | None]:
    return [decode_event(kind, line) for line in lines(name)]


def read(kind: Kind, document: object) -> KubernetesObject | Unreadable:
    return decode_item_of(kind, msgspec.json.encode(document)).content


def service(**fields: Any) -> dict[str, Any]:
    return {"metadata": {"name": "web", "namespace": "shop", "uid": "u", "resourceVersion": "7"}, **fields}


def test_a_recorded_list_is_read_with_its_version() -> None:
    page = decode_page(answer("list endpointslices")[1])
    assert (page.version, page.token) == ("280", "")
    slices = contents(Kind.ENDPOINT_SLICE, "list endpointslices")
    assert len(slices) == 4
    first = slices[0]
    assert isinstance(first, EndpointSlice)
    assert first.metadata.labels["kubernetes.io/service-name"] == "web-auto"
    assert (first.endpoints[0].zone, first.endpoints[0].addresses) == ("zone-b", ("10.1.2.1",))


def test_recorded_pages_follow_one_another() -> None:
    first, last = decode_page(answer("list paged, first page")[1]), decode_page(answer("list paged, next page")[1])
    assert first.token
    assert not last.token
    assert first.version == last.version
    assert (len(first.items), len(last.items)) == (3, 1)


def test_a_recorded_list_without_items_is_empty() -> None:
    assert decode_page(answer("field selector on secrets")[1]).items == ()


def test_items_are_read_as_documents_of_a_folder_are() -> None:
    page = decode_page(answer("list services")[1])
    for raw in page.items:
        document = {**msgspec.json.decode(raw), "kind": "Service", "apiVersion": "v1"}
        assert decode_item_of(Kind.SERVICE, raw).content == decode(document)


def test_recorded_metadata_of_nodes_are_nodes() -> None:
    (first, *_) = contents(Kind.NODE, "nodes as metadata only")
    assert isinstance(first, Node)
    assert first.metadata.labels["topology.kubernetes.io/zone"] == "zone-a"
    (watched, *_) = events(Kind.NODE, "watch nodes as metadata only")
    assert isinstance(watched, Changed)
    assert isinstance(watched.item, Item)
    # The recorded watch asked for whole Nodes.
    watched_node = watched.item.content
    assert isinstance(watched_node, Node)
    assert (watched_node.metadata, first.status) == (first.metadata, None)
    assert watched_node.status is not None
    assert (watched_node.status.ready, watched_node.status.cpu_milli) == (True, 4000)


def test_a_recorded_watch_is_read_event_by_event() -> None:
    modified, added, deleted, bookmark = events(Kind.SERVICE, "watch services from a version, server timeout 4 s")
    assert isinstance(modified, Changed)
    assert isinstance(added, Changed)
    assert (added.item.identity.name, added.item.identity.version) == ("tmp", "283")
    assert deleted == Deleted(Identity("shop", "tmp", added.item.identity.uid, "284"))
    assert bookmark == Bookmark("284")


def test_a_recorded_streaming_list_ends_with_its_bookmark() -> None:
    *added, end = events(Kind.SERVICE, "watch services, streaming list")
    assert [type(event) for event in added] == [Changed] * 4
    assert end == Bookmark("288", ends_list=True)


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("watch from a compacted version", 410),
        ("watch services, streaming list, storage without the feature", 500),
    ],
)
def test_a_recorded_error_inside_a_stream_has_its_code(name: str, code: int) -> None:
    (failure,) = events(Kind.SERVICE, name)
    assert isinstance(failure, Failure)
    assert failure.code == code
    assert failure.message


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("unauthorised", "Unauthorized"),
        ("streaming list refused without its match", "sendInitialEvents requires"),
        ("paged list, continue token expired by compaction", "too old"),
        ("list at an exact version that is compacted", "too old"),
        ("one node missing", 'nodes "nope" not found'),
    ],
)
def test_a_recorded_refusal_says_why_in_one_short_line(name: str, part: str) -> None:
    message = message_of(answer(name)[1])
    assert part in message
    assert "\n" not in message
    assert len(message) <= 300


@pytest.mark.parametrize("body", [b"", b"404 page not found\n", b"<html>502</html>", b'{"message":7}', b"[]", b"\xff"])
def test_what_is_no_status_says_nothing(body: bytes) -> None:
    assert message_of(body) == ""


@pytest.mark.parametrize("body", [b"", b"<html>", b"[]", b'{"items":[]}', b'{"metadata":{},"items":{}}', b"\xff{"])
def test_what_is_no_list_is_refused(body: bytes) -> None:
    with pytest.raises(DecodingError, match="not a list"):
        decode_page(body)


def test_items_that_are_null_are_none() -> None:
    assert decode_page(b'{"metadata":{"resourceVersion":"1"},"items":null}').items == ()


def test_null_and_unknown_fields_are_tolerated() -> None:
    document = service(spec={"ports": None, "type": None, "new": [{}]}, status=None)
    document["metadata"] |= {"labels": None, "annotations": None, "managedFields": [{}]}
    assert read(Kind.SERVICE, document) == Service(Metadata("web", "shop", "u", "7"))


def test_conditions_that_are_null_stay_unknown() -> None:
    endpoint = {"addresses": ["fd00::1"], "conditions": {"ready": None}, "zone": None, "hints": None}
    item = read(Kind.ENDPOINT_SLICE, service(addressType="IPv6", endpoints=[endpoint, endpoint], ports=None))
    assert isinstance(item, EndpointSlice)
    assert item.endpoints[0].conditions.ready is None
    assert (item.endpoints[0].zone, item.ports) == ("", ())


def test_an_object_that_cannot_be_read_keeps_its_name_and_says_what_is_wrong() -> None:
    item = decode_item_of(Kind.SERVICE, msgspec.json.encode(service(spec={"ports": [{"port": "http"}]})))
    assert item.identity == Identity("shop", "web", "u", "7")
    assert isinstance(item.content, Unreadable)
    assert (item.content.namespace, item.content.name) == ("shop", "web")
    assert "Expected `int`" in item.content.problem


def test_a_bad_label_does_not_hide_the_name() -> None:
    document = service()
    document["metadata"]["labels"] = {"a": 1}
    document["metadata"]["annotations"] = [1]
    item = decode_item_of(Kind.SERVICE, msgspec.json.encode(document))
    assert item.identity == Identity("shop", "web", "u", "7")
    assert isinstance(item.content, Unreadable)


@pytest.mark.parametrize(
    "metadata",
    [
        None,
        7,
        {},
        {"name": 7},
        {"name": "Web"},
        {"name": "web", "namespace": "a/b"},
        {"name": "../../secrets", "namespace": "shop"},
        {"name": "x\nlevel=error", "namespace": "shop"},
    ],
)
def test_a_name_that_is_none_is_not_repeated(metadata: object) -> None:
    item = decode_item_of(Kind.SERVICE, msgspec.json.encode({"metadata": metadata}))
    assert isinstance(item.content, Unreadable)
    assert (item.identity.namespace, item.identity.name) == ("", "")
    assert "level=error" not in item.content.problem


@pytest.mark.parametrize("raw", [b"7", b"[]", b"null", b'"x"'])
def test_an_item_that_is_no_object_is_unreadable(raw: bytes) -> None:
    assert isinstance(decode_item_of(Kind.SERVICE, raw).content, Unreadable)


def test_one_bad_item_harms_no_neighbour() -> None:
    body = msgspec.json.encode({"metadata": {"resourceVersion": "1"}, "items": [service(), 7, service(spec=[])]})
    read_items = [decode_item_of(Kind.SERVICE, raw).content for raw in decode_page(body).items]
    assert [type(content) for content in read_items] == [Service, Unreadable, Unreadable]


def test_a_deletion_needs_no_more_than_a_name() -> None:
    line = msgspec.json.encode({"type": "DELETED", "object": service(spec="broken")})
    assert decode_event(Kind.SERVICE, line) == Deleted(Identity("shop", "web", "u", "7"))


def test_a_bookmark_needs_no_name() -> None:
    line = msgspec.json.encode({"type": "BOOKMARK", "object": {"metadata": {"resourceVersion": "9"}}})
    assert decode_event(Kind.SERVICE, line) == Bookmark("9")


def test_an_event_of_a_type_to_come_is_none() -> None:
    assert decode_event(Kind.SERVICE, b'{"type":"RENAMED","object":{}}') is None


@pytest.mark.parametrize("line", [b"<html>", b"{}", b'{"type":"ADDED"}', b'{"type":1,"object":{}}', b"\xff", b"[" * 99])
def test_a_line_that_is_no_event_is_refused_without_being_quoted(line: bytes) -> None:
    with pytest.raises(DecodingError) as raised:
        decode_event(Kind.SERVICE, line)
    assert str(raised.value) == "a line of the watch is not an event"


@pytest.mark.parametrize("status", [{}, {"code": None}, {"code": "410"}, 7])
def test_an_error_without_a_code_has_none(status: object) -> None:
    line = msgspec.json.encode({"type": "ERROR", "object": status})
    assert decode_event(Kind.SERVICE, line) == Failure(0, "")


def test_a_secret_is_in_no_text() -> None:
    document = service(data={"hunter2": {"hunter2": "hunter2"}})
    content = read(Kind.SECRET, document)
    assert isinstance(content, Unreadable)
    assert "hunter2" not in repr(content)
    assert "aHVudGVyMg" not in repr(decode_item_of(Kind.SECRET, msgspec.json.encode(service(data={"k": "aHVudGVyMg"}))))


_KEYS = ("metadata", "name", "namespace", "labels", "spec", "ports", "port", "endpoints", "conditions", "data")
_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(_KEYS), inner, max_size=4),
    max_leaves=12,
)
_DOCUMENTS = st.fixed_dictionaries(
    {"metadata": st.fixed_dictionaries({"name": st.just("web")}, optional={"labels": _JSON, "uid": _JSON})},
    optional={"spec": _JSON, "data": _JSON, "ports": _JSON, "endpoints": _JSON},
)


@examples(150)
@given(st.sampled_from(list(Kind)), _JSON | _DOCUMENTS)
def test_no_document_is_fatal_and_both_ways_of_reading_agree(kind: Kind, document: object) -> None:
    item = decode_item_of(kind, msgspec.json.encode(document))
    if isinstance(item.content, Unreadable):
        assert item.content.problem
    elif isinstance(document, dict):
        # A null in the metadata takes the careful way.
        metadata = {**document["metadata"], "generateName": None, "selfLink": None, "creationTimestamp": None}
        assert read(kind, {**document, "metadata": metadata}) == item.content


def test_a_port_of_a_service_is_read_in_the_fast_way_as_in_the_careful_one() -> None:
    fast = read(Kind.SERVICE, service(spec={"ports": [{"port": 80, "name": "http"}]}))
    careful = read(Kind.SERVICE, service(spec={"ports": [{"port": 80, "name": "http", "protocol": None}]}))
    assert fast == careful
    assert isinstance(fast, Service)
    assert fast.spec.ports == (ServicePort(80, "http"),)


def test_what_is_not_wanted_is_known_by_its_metadata_alone() -> None:
    asked: list[Identity] = []

    def keeps(identity: Identity) -> bool:
        asked.append(identity)
        return identity.name == "a"

    raws = {
        name: b'{"metadata":{"name":"%s","namespace":"shop","uid":"u","resourceVersion":"7"},"data":{"k":"b25l"}}'
        % name
        for name in (b"a", b"b")
    }
    assert decode_wanted(Kind.SECRET, raws[b"a"], keeps) == decode_item_of(Kind.SECRET, raws[b"a"])
    assert decode_wanted(Kind.SECRET, raws[b"b"], keeps) == Passed(Identity("shop", "b", "u", "7"))
    assert decode_event(Kind.SECRET, b'{"type":"ADDED","object":%s}' % raws[b"b"], keeps) == Changed(Passed(asked[1]))
    assert decode_wanted(Kind.SECRET, raws[b"b"], None) == decode_item_of(Kind.SECRET, raws[b"b"])


@pytest.mark.parametrize("broken", [b'"data":{"k":5}', b'"data":[]', b'"metadata":{"labels":{"a":5}}'])
def test_what_is_not_wanted_is_no_problem_however_broken_it_is(broken: bytes) -> None:
    raw = b'{"metadata":{"name":"b","namespace":"shop"},%s}' % broken
    assert isinstance(decode_wanted(Kind.SECRET, raw, lambda _: False), Passed)
