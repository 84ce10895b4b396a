"""Objects of files, read and written; a file that only one of two parsers reads is said."""

from __future__ import annotations

from pathlib import Path

import pytest

from ingress.migration.manifest_files import CannotKeep, added_lines, documents_of, save


def test_objects_without_a_name_are_left_out(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("kind: A\nmetadata: {name: a}\n---\nkind: B\n---\n- 1\n")
    assert [each["kind"] for each in documents_of(tmp_path / "a.yaml")] == ["A"]
    (tmp_path / "a.json").write_text('{"kind": "List", "items": [{"kind": "A", "metadata": {"name": "a"}}]}')
    assert [each["kind"] for each in documents_of(tmp_path / "a.json")] == ["A"]


def test_a_file_that_the_parser_does_not_read_is_said(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_bytes(b"kind: \xff\n")
    with pytest.raises(CannotKeep, match=r"a\.yaml is no YAML"):
        [*documents_of(tmp_path / "a.yaml")]


def test_a_new_file_is_a_diff_of_added_lines(tmp_path: Path) -> None:
    document = {"kind": "A", "metadata": {"name": "1e3"}}
    lines = [*added_lines(Path("b/a.yaml"), [document], is_json=True)]
    assert lines[:3] == ["--- /dev/null", "+++ b/b/a.yaml", "@@ -0,0 +1,4 @@"]
    assert lines[-1] == '+  name: "1e3"'
    save(tmp_path / "b" / "a.yaml", [document], is_json=False)
    assert [*documents_of(tmp_path / "b" / "a.yaml")] == [document]
