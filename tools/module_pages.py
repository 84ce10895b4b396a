"""Makes docs/modules.md and the tree of folders in docs/ARCHITECTURE.md from the first sentences of docstrings.

The sources are read as text, so a module that cannot be imported has its line all the same.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from tools.places import DOCS, ROOT, text_of

PLANES = ("balancer", "ingress")
_TREE = re.compile(r"(?<=<!-- made from docstrings: folders -->\n).*?(?=<!-- end of the tree -->)", re.DOTALL)
_DOCSTRING = re.compile(r'"""(?:[^"\\]|\\.|"(?!""))*"""', re.DOTALL)
_PAGE = """\
# Modules

Made from the first sentences of docstrings by `make docs`; do not edit. [ARCHITECTURE.md](ARCHITECTURE.md) says how the
folders fit together and where to change what.
{folders}"""


def files() -> dict[Path, str]:
    """The two pages."""
    architecture = DOCS / "ARCHITECTURE.md"
    return {DOCS / "modules.md": modules_page(ROOT), architecture: with_tree(text_of(architecture), ROOT)}


def modules_page(root: Path) -> str:
    """The page of all modules below `root`: a section for each folder, a line for each module."""
    folders = (
        f"\n## {folder.relative_to(root)}/\n\n{_sentence_of(folder / '__init__.py')}\n\n{''.join(_rows(folder))}"
        for folder in _folders(root)
    )
    return _PAGE.format(folders="".join(folders))


def with_tree(page: str, root: Path) -> str:
    """`page` with the tree of the folders below `root` made anew between its marks."""
    lines = "".join(_branches(root))
    return _TREE.sub(lambda _: f"```\n{lines}```\n", page)


def _folders(root: Path) -> Iterator[Path]:
    for plane in PLANES:
        yield from sorted(path.parent for path in (root / plane).rglob("__init__.py"))


def _rows(folder: Path) -> Iterator[str]:
    for module in sorted(folder.glob("*.py")):
        if module.stem != "__init__":
            yield f"* `{module.stem}`: {_sentence_of(module)}\n"


def _branches(root: Path) -> Iterator[str]:
    for folder in _folders(root):
        place = folder.relative_to(root)
        name = "  " * (len(place.parts) - 1) + place.name + "/"
        yield f"{name:<28} {_sentence_of(folder / '__init__.py')}\n"


def _sentence_of(module: Path) -> str:
    beginning = _DOCSTRING.match(text_of(module))  # to parse whole modules would take a second
    docstring = ast.get_docstring(ast.parse(beginning[0])) or "" if beginning is not None else ""
    paragraph = " ".join(docstring.partition("\n\n")[0].split())
    return re.split(r"(?<=\.) (?=[A-Z`])", paragraph)[0]
