"""The pages of modules: a line for each module and folder, from the first sentence of its docstring."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.module_pages import modules_page, with_tree


@pytest.fixture
def root(tmp_path: Path) -> Path:
    inner = tmp_path / "balancer" / "inner"
    inner.mkdir(parents=True)
    (tmp_path / "ingress").mkdir()
    (tmp_path / "balancer" / "__init__.py").write_text('"""The plane. More."""')
    (tmp_path / "balancer" / "first.py").write_text('"""Does one thing, which takes\nmore than a line. More.\n"""\n')
    (inner / "__init__.py").write_text('"""What is inside."""')
    (inner / "second.py").write_text('"""Does another thing: `x`.\n\nMore.\n"""\nimport nothing_that_exists\n')
    return tmp_path


def test_each_module_has_a_line_in_the_section_of_its_folder(root: Path) -> None:
    page = modules_page(root)
    assert page.endswith(
        "\n## balancer/\n\nThe plane.\n\n* `first`: Does one thing, which takes more than a line.\n"
        "\n## balancer/inner/\n\nWhat is inside.\n\n* `second`: Does another thing: `x`.\n"
    )


def test_the_tree_has_each_folder_below_its_parent(root: Path) -> None:
    page = "before\n<!-- made from docstrings: folders -->\nstale\n<!-- end of the tree -->\nafter\n"
    made = with_tree(page, root)
    tree = made.split("```\n")[1].splitlines()
    assert [line.split("  ")[0] for line in tree[:1]] == ["balancer/"]
    assert tree[0].endswith(" The plane.")
    assert tree[1].startswith("  inner/ ")
    assert tree[1].endswith(" What is inside.")
    assert "stale" not in made
    assert made.startswith("before\n")
    assert made.endswith("<!-- end of the tree -->\nafter\n")
