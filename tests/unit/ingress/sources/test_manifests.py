"""What a manifest file holds, also while somebody edits it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingress.objects.definitions import Definitions
from ingress.objects.kinds import ConfigMap, Kind, Secret, Service
from ingress.sources.events import Provisioned, Replaced
from ingress.sources.manifests import Manifest, merge, read_manifest, too_large, unreadable

TWO = b"""
apiVersion: v1
kind: Service
metadata: {name: a}
---
apiVersion: v1
kind: Service
metadata: {name: b, namespace: shop}
"""


def read(data: bytes | str, last: Manifest | None = None, path: str = "a.yaml") -> Manifest:
    return read_manifest(data.encode() if isinstance(data, str) else data, path=path, last=last or Manifest())


def names(manifest: Manifest) -> list[str]:
    return [f"{item.metadata.namespace}/{item.metadata.name}" for item in manifest.objects]


def reasons(manifest: Manifest) -> list[tuple[str, str, str]]:
    return [(finding.kind, finding.name, finding.reason) for finding in manifest.findings]


def service(name: str, **metadata: str) -> str:
    extra = "".join(f", {key}: {text}" for key, text in metadata.items())
    return f"apiVersion: v1\nkind: Service\nmetadata: {{name: {name}{extra}}}\n---\n"


def test_several_documents_are_read_in_order() -> None:
    assert names(read(TWO)) == ["default/a", "shop/b"]


def test_empty_documents_comments_and_other_kinds_are_passed_over() -> None:
    text = f"---\n# nothing\n---\n{service('a')}\napiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: d}}\n"
    assert names(read(text)) == ["default/a"]
    assert read(text).findings == ()


def test_json_is_read_as_json() -> None:
    assert names(read('{"apiVersion":"v1","kind":"Node","metadata":{"name":"n"}}', path="n.json")) == ["/n"]


@pytest.mark.parametrize(
    "text",
    [
        "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: Service, metadata: {name: a}}\n",
        "apiVersion: v1\nkind: ServiceList\nitems:\n- {metadata: {name: a}}\n",
        "apiVersion: v1\nkind: ServiceList\nitems:\n- {apiVersion: v1, kind: Service, metadata: {name: a}}\n",
    ],
)
def test_lists_are_flattened(text: str) -> None:
    assert names(read(text)) == ["default/a"]


def test_a_bare_timestamp_is_text() -> None:
    manifest = read(service("a", creationTimestamp="2024-01-01T00:00:00Z"))
    assert manifest.objects[0].metadata.creation_timestamp == "2024-01-01T00:00:00Z"


def test_anchors_and_merge_keys_work() -> None:
    text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata: {a: &x one, b: *x}\n"
    (item,) = read(text).objects
    assert isinstance(item, ConfigMap)
    assert item.data == {"a": "one", "b": "one"}


@pytest.mark.parametrize(
    "broken",
    [
        "a: [",
        "a: b: c",
        "\tx",
        "%",
        "&a *a",
        "!!python/object:os.system x",
        "!!bool maybe",
        "!!timestamp x",
        "? [a]\n: b",
        "a: \x00",
        "[" * 100_000,
        "a: &a [*a]",
        "%TAG !a! b\n" * 1000,
        b"\xff\xfe\x00",
    ],
)
def test_a_file_that_does_not_parse_keeps_its_last_good_content(broken: str | bytes) -> None:
    good = read(TWO)
    manifest = read(broken, good)
    assert manifest.objects == good.objects
    assert reasons(manifest) == [("File", "a.yaml", "FileUnreadable")]


def test_a_broken_json_file_as_well() -> None:
    manifest = read('{"kind":', path="a.json")
    assert reasons(manifest) == [("File", "a.json", "FileUnreadable")]


def test_the_finding_says_where_and_shows_nothing_of_the_file() -> None:
    (finding,) = read("stringData:\n  password: *hunter2\n").findings
    assert "line 2" in finding.message
    assert "hunter2" not in finding.message


def test_an_emptied_file_keeps_its_content_and_one_that_was_empty_is_nothing() -> None:
    good = read(TWO)
    assert read(b"", good).objects == good.objects
    assert reasons(read(b"", good)) == [("File", "a.yaml", "FileUnreadable")]
    assert read(b"") == Manifest()


def test_a_file_of_comments_is_empty_on_purpose() -> None:
    assert read("# gone\n", read(TWO)) == Manifest()


def test_a_good_file_forgets_its_findings() -> None:
    assert read(TWO, read("a: [", read(TWO))).findings == ()


def test_a_malformed_object_keeps_its_last_good_content_and_its_neighbours_apply() -> None:
    good = read(service("a", uid='"1"') + service("b", uid='"1"'))
    changed = read(service("a", uid="1") + service("b", uid='"2"'), good)
    assert [item.metadata.uid for item in changed.objects] == ["1", "2"]
    assert reasons(changed) == [("Service", "a", "ObjectMalformed")]
    again = read(service("a", uid="1"), changed)
    assert [item.metadata.uid for item in again.objects] == ["1"]


def test_a_malformed_object_without_a_namespace_keeps_its_content_too() -> None:
    node = "apiVersion: v1\nkind: Node\nmetadata: {name: n, labels: {zone: %s}}\n"
    good = read(node % "a")
    changed = read(node % "1", good)
    assert changed.objects == good.objects
    assert reasons(changed) == [("Node", "n", "ObjectMalformed")]


def test_a_malformed_object_that_never_was_good_is_left_out() -> None:
    manifest = read(service("a", uid="1") + service("b"))
    assert names(manifest) == ["default/b"]
    assert reasons(manifest) == [("Service", "a", "ObjectMalformed")]


@pytest.mark.parametrize(
    "text", ["just text", "- a\n- b", "a: 1", "apiVersion: v1\nkind: Service\nmetadata: {name: 1}"]
)
def test_what_names_no_object_is_a_finding_about_the_file(text: str) -> None:
    manifest = read(text)
    assert manifest.objects == ()
    assert reasons(manifest) == [("File", "a.yaml", "ObjectMalformed")]


def test_an_item_of_a_list_may_be_malformed_too() -> None:
    manifest = read("apiVersion: v1\nkind: List\nitems: [7, {apiVersion: v1, kind: Service, metadata: {name: a}}]\n")
    assert names(manifest) == ["default/a"]
    assert reasons(manifest) == [("File", "a.yaml", "ObjectMalformed")]


def test_nothing_of_a_malformed_secret_is_shown() -> None:
    manifest = read("apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {hunter2: [hunter2]}\n")
    assert reasons(manifest) == [("Secret", "s", "ObjectMalformed")]
    assert "hunter2" not in str(manifest)


def test_a_secret_is_read_and_not_shown() -> None:
    manifest = read("apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {key: hunter2}\n")
    (secret,) = manifest.objects
    assert isinstance(secret, Secret)
    assert secret.value("key") == b"hunter2"
    assert "hunter2" not in repr(manifest)


def test_an_unreadable_file_keeps_its_objects_and_one_finding() -> None:
    manifest = unreadable(read("7\n---\n" + service("a")), path="a.yaml", problem="cannot be read: no")
    assert names(manifest) == ["default/a"]
    assert reasons(manifest) == [("File", "a.yaml", "FileUnreadable")]


def test_a_file_that_is_too_large_keeps_its_objects_and_one_finding() -> None:
    manifest = too_large(read(service("a")), path="a.yaml")
    assert names(manifest) == ["default/a"]
    (finding,) = manifest.findings
    assert (finding.reason, finding.message) == ("FileTooLarge", "The file is larger than 16 MiB: split it.")


@pytest.mark.parametrize("port", ["0", "65536", "-1", "0x" + "f" * 60, "0x" + "f" * 6000, "9" * 6000, "1:" * 99 + "1"])
def test_a_port_that_is_none_spoils_its_object_only(port: str) -> None:
    text = f"apiVersion: v1\nkind: Service\nmetadata: {{name: s}}\nspec: {{ports: [{{port: {port}}}]}}\n---\n"
    good = read(text.replace(port, "80"))
    manifest = read(service("a") + text + service("b"), good)
    assert names(manifest) == ["default/a", "default/s", "default/b"]
    assert manifest.objects[1] == good.objects[0]
    assert reasons(manifest) == [("Service", "s", "ObjectMalformed")]


HOSTILE = (
    *(
        "!!set {a}",
        "!!binary aGk=",
        "!!omap [a: ~]",
        "!!pairs [a: ~]",
        "!!set {1}",
        "{1: a}",
        "{~: a}",
        "{!!binary aGk=: a}",
    ),
    *(".inf", ".nan", "1e308", "9" * 64, "9" * 65, "0x" + "f" * 6000, "-" + "9" * 6000, "2024-01-01", "~", "true"),
    *('"\\0\\x01\\e\\x85\\u2028"', "x" * 100_000, "a-" * 50_000, "[[]]", "[{}]", "[~]", "&x [1]", "[" * 90 + "]" * 90),
)
PLACES = {
    "Service": "metadata: {name: s, labels: %s}\nspec: {ports: [{port: %s, name: %s}], clusterIP: %s}",
    "Secret": "metadata: {name: s, namespace: %s}\ndata: %s\nstringData: {a: %s, %s: a}",
    "ConfigMap": "metadata: {name: %s}\ndata: {a: %s, ? %s : %s}",
    "Node": "metadata: %s\n? %s\n: %s\nstatus: %s",
    "List": "items: [%s, %s, {apiVersion: v1, kind: Node, metadata: {name: %s}}, {kind: %s}]",
}


@given(st.sampled_from(sorted(PLACES)), st.lists(st.sampled_from(HOSTILE), min_size=4, max_size=4))
def test_whatever_is_in_a_field_its_neighbours_apply_or_the_file_is_a_finding(kind: str, values: list[str]) -> None:
    text = f"apiVersion: v1\nkind: {kind}\n{PLACES[kind] % tuple(values)}\n---\n{service('neighbour')}"
    manifest = read(text)
    spoilt = [finding for finding in manifest.findings if finding.reason == "FileUnreadable"]
    assert ("default/neighbour" in names(manifest)) == (not spoilt)
    assert len(repr(merge({"a.yaml": manifest}).findings)) < 20_000


def test_merging_numbers_objects_in_path_order() -> None:
    merged = merge({"b.yaml": read(service("c")), "a.yaml": read(service("b") + service("a"))})
    assert [(item.metadata.name, item.metadata.sequence) for item in merged.objects.values()] == [
        ("b", 1),
        ("a", 2),
        ("c", 3),
    ]


def test_of_an_object_in_two_files_the_first_by_path_is_taken() -> None:
    merged = merge({"b.yaml": read(service("a", uid='"late"')), "a.yaml": read(service("a", uid='"early"'))})
    assert merged.objects[Kind.SERVICE, "default", "a"].metadata.uid == "early"
    (finding,) = merged.findings
    assert (finding.kind, finding.name, finding.reason) == ("Service", "a", "DuplicateObject")
    assert "b.yaml" in finding.message
    assert "a.yaml" in finding.message


def test_of_an_object_twice_in_one_file_the_first_is_taken() -> None:
    merged = merge({"a.yaml": read(service("a", uid='"1"') + service("a", uid='"2"'))})
    assert merged.objects[Kind.SERVICE, "default", "a"].metadata.uid == "1"
    assert len(merged.findings) == 1


def test_objects_of_the_same_name_and_other_kind_or_namespace_are_others() -> None:
    text = service("a") + service("a", namespace="shop") + "apiVersion: v1\nkind: Node\nmetadata: {name: a}\n"
    merged = merge({"a.yaml": read(text)})
    assert len(merged.objects) == 3
    assert merged.findings == ()


@given(st.binary(max_size=80) | st.text(max_size=80).map(lambda text: text.encode("utf-8", "replace")))
def test_no_bytes_raise(data: bytes) -> None:
    for path in ("a.yaml", "a.json"):
        assert read(data, path=path).objects == ()


@given(st.integers(0, len(TWO)))
def test_half_a_file_never_invents_an_object(length: int) -> None:
    good = read(TWO)
    found = {item.metadata.name for item in read(TWO[:length], good).objects}
    assert found <= {"a", "b"}
    assert all(isinstance(item, Service) for item in read(TWO[:length], good).objects)


def definition(version: str) -> str:
    said = f'{{gateway.networking.k8s.io/bundle-version: "{version}", gateway.networking.k8s.io/channel: standard}}'
    metadata = f"{{name: gatewayclasses.gateway.networking.k8s.io, annotations: {said}}}"
    return f"apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {metadata}\n---\n"


def test_the_definitions_of_gateway_api_are_those_of_the_first_file_that_has_them() -> None:
    files = {
        "c.yaml": read(definition("v1.5.0")),
        "b.yaml": read(definition("v1.6.1") + service("a")),
        "a.yaml": read(""),
    }
    provisioned = Provisioned(bundles=("v1.6.1",), channel="standard")
    contents = merge(files)
    assert contents.provisioned == provisioned
    assert [each for each in contents.replaced() if not isinstance(each, Replaced)] == [provisioned]
    assert merge({"a.yaml": read(service("a"))}).provisioned == Provisioned()


def test_a_file_that_cannot_be_read_keeps_its_definitions() -> None:
    assert read("{", read(definition("v1.6.1"))).definitions == Definitions("v1.6.1", "standard")
