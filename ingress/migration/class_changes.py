"""Changes the class of checked Ingresses in their own files, or shows what would change.

Does not know how a class is found in a file.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ingress.migration.belongings import is_solver
from ingress.migration.verdicts import Review


def change_classes(found: Review, source: Path, class_name: str, old_class: str, shows_diff: bool) -> Iterator[str]:
    """Writes the files of `source` whose Ingresses were checked, with `class_name`. Yields what to say.

    `shows_diff`: yields a unified diff instead, and writes nothing.
    """
    from ingress.migration.in_place import with_class
    from ingress.migration.round_trips import read_file

    wanted = {(each.file, each.namespace, each.name) for each in found.ingresses}
    for file in sorted({each.file for each in found.ingresses}):
        place = source / file if source.is_dir() else source

        def is_moved(document: dict[str, Any], file: str = file) -> bool:
            metadata = document["metadata"]
            key = file, metadata.get("namespace") or "default", metadata["name"]
            return key in wanted and not is_solver(metadata.get("labels"))

        text = read_file(place)
        changed = with_class(text, class_name, is_moved=is_moved, old_class=old_class)
        if shows_diff:
            old, new = text.splitlines(), changed.text.splitlines()
            yield from difflib.unified_diff(old, new, f"a/{file}", f"b/{file}", lineterm="")
        elif changed.text != text:
            place.write_text(changed.text, encoding="utf-8")
            yield from (f"{file}: Ingress {name} is of class {class_name} now" for name in changed.names)
        for name in changed.by_hand:
            yield f"{file}: Ingress {name} does not say its class in one plain line: change it by hand"
