"""Makes a tree of its own in which the typed modules are compiled, beside a checkout that stays plain.

Binaries are never put into a checkout, where they would run in place of sources that have changed since.
"""

from __future__ import annotations

import shutil
from collections.abc import Collection
from pathlib import Path

from balancer.manifest import NAME
from typed.compiling import compile_modules
from typed.listing import listing_of
from typed.modules import PACKAGE, SUFFIX

_LEFT_OUT = {"build", "dist", "bench-results", "__pycache__"}


def make_tree(root: Path, target: Path, flavour: str) -> Path:
    """Copies the project at `root` to a folder below `target`, with compiled modules. Returns that folder.

    A second call with equal sources changes nothing. Raises `CannotBuild`.
    """
    binaries = compile_modules(root, target / "cache", flavour)
    tree = target / f"{flavour}{SUFFIX.removesuffix('.so')}"
    listing = tree / PACKAGE / NAME
    copy_folder(root, tree, keeps={listing, *(tree / module.binary for module in binaries)})
    for module, binary in binaries.items():
        _copy_file(binary, tree / module.binary)
    _write(listing, listing_of(root, binaries))
    return tree


def _write(path: Path, text: str) -> None:
    """Writes a text that has changed. A process that starts meanwhile reads one or the other."""
    if not path.exists() or path.read_text() != text:
        new = path.with_name(f".{path.name}.new")
        new.write_text(text)
        new.replace(path)


def copy_folder(source: Path, target: Path, *, keeps: Collection[Path] = (), leaves_out: Collection[str] = ()) -> None:
    """Makes `target` equal to `source`, but for the files that it `keeps`, and those of these names in `source`."""
    target.mkdir(parents=True, exist_ok=True)
    wanted = {each.name: each for each in source.iterdir() if not _is_left_out(each) and each.name not in leaves_out}
    for entry in target.iterdir():
        if entry.name not in wanted and entry not in keeps and entry.name != "__pycache__":
            shutil.rmtree(entry) if entry.is_dir() else entry.unlink()
    for name, entry in wanted.items():
        if entry.is_dir():
            copy_folder(entry, target / name, keeps=keeps)
        else:
            _copy_file(entry, target / name)


def _is_left_out(entry: Path) -> bool:
    return entry.name.startswith(".") or entry.name in _LEFT_OUT or entry.is_symlink()


def _copy_file(source: Path, target: Path) -> None:
    """Copies a file that has changed. The new file replaces the old one, which a process may have open."""
    if target.exists() and (target.stat().st_size, target.stat().st_mtime_ns) == (
        source.stat().st_size,
        source.stat().st_mtime_ns,
    ):
        return
    new = target.with_name(f".{target.name}.new")
    shutil.copy2(source, new)
    new.replace(target)
