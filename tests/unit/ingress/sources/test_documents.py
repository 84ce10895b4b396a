"""Whatever bytes somebody saves, reading them ends soon, in values or in one sentence."""

from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingress.sources.documents import FILE_BYTES, Unparsable, parse

_LIMIT_SECONDS = 60.0  # many times of what it takes, and a fraction of what it took without bounds


def yaml(text: str) -> list[object]:
    return parse(text.encode(), is_json=False)


def refusal(text: str | bytes, *, is_json: bool = False) -> str:
    with pytest.raises(Unparsable) as refused:
        parse(text.encode() if isinstance(text, str) else text, is_json=is_json)
    assert "\n" not in str(refused.value)
    return str(refused.value)


def powers_of_ten(line: str, *, lines: int) -> str:
    """Lines of which each holds ten aliases of the one before."""
    return "a0: &a0 {k: v}\n" + "".join(
        f"a{i}: &a{i} {line.format(','.join([f'*a{i - 1}'] * 10))}\n" for i in range(1, lines + 1)
    )


def test_documents_are_plain_values() -> None:
    assert yaml("a: [1, 0x10, 1.5, true, ~, 2024-01-01]\n---\n---\nb") == [
        {"a": [1, 16, 1.5, True, None, "2024-01-01"]},
        None,
        "b",
    ]
    assert parse(b'{"a": [1, null]}', is_json=True) == [{"a": [1, None]}]


@pytest.mark.large
@pytest.mark.parametrize("nested", ["[", "{a: ", "- ", "? ", "[{a: ", "&x [", "!!seq ["])
def test_nesting_that_crashes_the_parser_is_refused(nested: str) -> None:
    # A process of its own, because what is tested against is a segmentation fault.
    script = (
        "import sys\nfrom ingress.sources.documents import Unparsable, parse\n"
        "try: parse(sys.stdin.buffer.read(), is_json=False)\nexcept Unparsable as refused: print(refused)"
    )
    ended = subprocess.run(
        (sys.executable, "-c", script),
        input=nested.encode() * 100_000,
        capture_output=True,
        timeout=_LIMIT_SECONDS,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.startswith(b"is nested more than 100 levels deep at line 1, column ")


def test_nesting_up_to_the_limit_is_read() -> None:
    assert yaml("[" * 100 + "]" * 100)
    assert "levels deep" in refusal("[" * 101 + "]" * 101)
    assert "levels deep" in refusal("".join(" " * i + "a:\n" for i in range(101)) + " " * 101 + "b")


def test_nested_json_is_refused() -> None:
    assert "not valid JSON" in refusal("[" * 100_000, is_json=True)
    assert "not valid JSON" in refusal('{"a":' * 100_000, is_json=True)


def test_a_few_anchors_are_read_as_often_as_they_are_used() -> None:
    text = "a: &a {k: v}\nb: &b [*a, *a]\nc: {<<: *a, x: *b}\n---\nd: &a 1\ne: *a\n"
    one = {"k": "v"}
    assert yaml(text) == [{"a": one, "b": [one, one], "c": {"k": "v", "x": [one, one]}}, {"d": 1, "e": 1}]


@pytest.mark.parametrize("line", ["[{}]", "{{<<: [{}]}}", "{{x: [{}]}}"], ids=["lists", "merge keys", "mappings"])
def test_aliases_count_as_if_written_out(line: str) -> None:
    assert yaml(powers_of_ten(line, lines=3))
    assert "aliases written out at line 7" in refusal(powers_of_ten(line, lines=50))


def test_aliases_of_a_long_text_count_with_its_characters() -> None:
    text = "a: &a " + "x" * 1_000_000 + "\nb: [{}]"
    assert yaml(text.format(",".join(["*a"] * 10)))
    assert "aliases written out" in refusal(text.format(",".join(["*a"] * 100)))


@pytest.mark.parametrize("text", ["&a [*a]", "&a {b: *a}", "a: *b", "a: &b 1\n---\na: *b"])
def test_an_alias_leads_back_to_something_complete(text: str) -> None:
    assert refusal(text).startswith("has an alias without an anchor before it at line ")


def test_a_million_values_are_too_many() -> None:
    assert refusal("[],\n" * 1_100_000, is_json=True) == "holds too many values: split it"
    assert parse(b'{"a": "' + b"x" * (FILE_BYTES - 9) + b'"}', is_json=True)


@pytest.mark.large
def test_a_long_text_is_read() -> None:
    assert yaml("a: '" + "x" * (FILE_BYTES - 9) + "'\n") == [{"a": "x" * (FILE_BYTES - 9)}]


@pytest.mark.parametrize(
    "number", ["9" * 5000, "0x" + "f" * 6000, "1" + ":1" * 200_000, "1" + ":1" * 200_000 + ".0", "1" * 100_000 + ".0"]
)
def test_what_is_longer_than_a_number_is_text(number: str) -> None:
    assert yaml(f"a: {number}") == [{"a": number}]
    assert yaml("a: !!int " + number) == [{"a": number}]
    assert yaml("a: !!float " + number) == [{"a": number}]


@pytest.mark.large
def test_numbers_that_collide_as_keys_are_refused() -> None:
    colliding = [f"{i * (2**61 - 1)}: x" for i in range(1, 20_000)]
    assert yaml("{" + ",".join(colliding[:1000]) + "}")
    assert refusal("{" + ",".join(colliding) + "}").startswith("is not valid YAML")
    parts = ",".join("{" + ",".join(colliding[i : i + 1000]) + "}" for i in range(0, 20_000, 1000))
    assert refusal("{<<: [" + parts + "]}").startswith("is not valid YAML")


@pytest.mark.large
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_directives_are_bounded_in_every_encoding(encoding: str) -> None:
    directives = [f"%TAG !a{i}! x\n" for i in range(100_000)]
    assert parse(("".join(directives[:100]) + "--- a").encode(encoding), is_json=False) == ["a"]
    assert "directives" in refusal(("".join(directives) + "--- a").encode(encoding))


TAGS = ("set", "binary", "omap", "pairs", "python/object:os.system", "timestamp", "int", "float", "bool")
PARTS = (
    *"[]{},:-?&*!|>'\"#%@` \n\t\0ab019.",
    *("---\n", "...\n", "%YAML 1.1\n", "&a ", "*a", "<<: ", "a: ", "- ", "  "),
    *(f"!!{tag} " for tag in TAGS),
    *("0x", ".inf", ".nan", "~", "\ud800", "\x85", "\u2028", "\ufeff"),
)
FRAGMENTS = st.lists(st.sampled_from(PARTS), max_size=40).map("".join)


@given(FRAGMENTS)
def test_no_text_raises_anything_else(text: str) -> None:
    for encoding in ("utf-8", "utf-16"):
        for is_json in (False, True):
            try:
                assert isinstance(parse(text.encode(encoding, "surrogatepass"), is_json=is_json), list)
            except Unparsable as refused:
                assert str(refused)
