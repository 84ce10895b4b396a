"""Knows which compiled modules belong together, and finds those that do not.

Whoever compiles modules (docs/typed.md) writes one list of them with their sources. A mixture of two builds would run
with types that do not fit each other, and a module without its binary would run many times slower, both in silence.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from hashlib import blake2b
from importlib.machinery import EXTENSION_SUFFIXES
from typing import Final

StrPath = str | os.PathLike[str]
"""A place in the file system. Workers would import `pathlib` for this alone, and every process comes here first."""

NAME: Final = "compiled.b2sums"
"""The file in the package that lists the compiled modules and their sources, as `b2sum --length 256` does."""

_WAY_OUT: Final = "install zonal again, or set ZONAL_PURE=1 to run its plain source"
_ID_LENGTH: Final = 12  # as much as tells two builds apart


class WrongBuild(ImportError):
    """The compiled modules are not those of one build. The message is one line for the user."""


def manifest_of(files: Mapping[str, StrPath]) -> str:
    """The list of `files`, which are named as they are below the package."""
    return "".join(f"{_hash(_content(path))}  {name}\n" for name, path in sorted(files.items()))


def build_id(manifest: str) -> str:
    """The name of the build that has this list: one hash over all its modules."""
    return _hash(manifest.encode())[:_ID_LENGTH]


def checked_build(package: StrPath) -> str:
    """The name of the build that the package at this place holds; empty if none of its modules is compiled.

    Raises `WrongBuild` if its compiled modules and their sources are not exactly those of one build for this Python.
    """
    found, manifest = set(_binaries(package)), _read(os.path.join(package, NAME))
    listed = {*map(_named, manifest.splitlines())} - {""}
    _refuse(found - listed, f"compiled, but of no build that {NAME} lists")
    if not listed:
        return ""
    _refuse((name for name in listed if not os.path.isfile(os.path.join(package, name))), "missing")
    _refuse((name for name in found if not name.endswith(EXTENSION_SUFFIXES[0])), "compiled for another Python")
    now = manifest_of({name: os.path.join(package, name) for name in listed})
    if now != manifest:
        changed = {*map(_named, set(now.splitlines()) - set(manifest.splitlines()))}
        _refuse(changed or {NAME}, "changed")
    return build_id(manifest)


def _hash(content: bytes) -> str:
    """Of the hashes that nobody can forge the one that costs least without instructions for it (18 ms for a build)."""
    return blake2b(content, digest_size=32).hexdigest()


def _named(line: str) -> str:
    """The file that a line of the list names."""
    return line.partition("  ")[2]


def _content(path: StrPath) -> bytes:
    with open(path, "rb") as file:
        return file.read()


def _read(path: str) -> str:
    try:
        return _content(path).decode()
    except FileNotFoundError:
        return ""


def _binaries(package: StrPath) -> Iterator[str]:
    """The compiled modules below the package, of any Python."""
    for folder, _, names in os.walk(package):
        for name in names:
            if name.endswith(".so"):
                yield os.path.relpath(os.path.join(folder, name), package)


def _refuse(names: Iterable[str], because: str) -> None:
    """Raises `WrongBuild` if there are any names."""
    if wrong := sorted(names):
        more = f" and {len(wrong) - 1} more" if len(wrong) > 1 else ""
        raise WrongBuild(f"{wrong[0]}{more}: {because}; {_WAY_OUT}")
