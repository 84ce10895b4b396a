"""Compiles typed modules with Cython and the C compiler of this Python, each once for equal input.

A compiled file is kept under a key of all that went into it: its source, the types it is compiled with, the compilers
and their flags. So an old binary is never taken for a new source.
"""

from __future__ import annotations

import hashlib
import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from typed.modules import PACKAGE, SUFFIX, Module, typed_modules, types_read_for

# Annotations are no types for Cython: they say more than C knows. Indexes and None are checked as in Python.
_CYTHON = ("-3", "-X", "annotation_typing=False", "-X", "boundscheck=True", "-X", "nonecheck=True", "-Werror")
# Cython 3.3.1 takes a C truth value for an object in some mixtures of `and` and `or`. The C compiler sees that.
_SOUND = ("-Werror=int-to-pointer-cast", "-Werror=int-conversion", "-Werror=incompatible-pointer-types")
_COMMON = ("-shared", "-fPIC", "-fwrapv", "-fno-strict-aliasing", *_SOUND)
FLAVOURS = {
    "release": ("-O2", "-DNDEBUG"),
    "checked": ("-O0", "-g", "-UNDEBUG", "-DCYTHON_CLINE_IN_TRACEBACK=1"),
    "asan": ("-O1", "-g", "-fno-omit-frame-pointer", "-fsanitize=address", "-DCYTHON_USE_FREELISTS=0"),
}
"""The flags of each kind of build: to serve with, with assertions and not optimised, and to find misuse of memory."""


class CannotBuild(Exception):
    """A compiler is missing or refuses a module. The message is for the user."""


@dataclass(frozen=True, slots=True)
class Compilers:
    """What turns a source into a binary, and which versions of it these are."""

    c: tuple[str, ...]
    flags: tuple[str, ...]
    cython: str
    """What Cython says of itself."""
    compiler: str
    """What the C compiler says of itself."""

    @property
    def versions(self) -> str:
        """Which Python, Cython and C compiler these are."""
        return "\n".join((sys.version, SUFFIX, self.cython, self.compiler))

    @classmethod
    def here(cls, flavour: str) -> Compilers:
        """The compilers of this machine for a build of that kind. Raises `CannotBuild` if one is missing."""
        c = tuple(shlex.split(os.environ.get("CC") or _compiler()))
        cython, compiler = _said([sys.executable, "-m", "cython", "--version"]), _said([*c, "--version"])
        return cls(c, (*_COMMON, *FLAVOURS[flavour]), cython, compiler)


def _compiler() -> str:
    configured = str(sysconfig.get_config_var("CC") or "cc")
    return configured if shutil.which(configured.split(maxsplit=1)[0]) else "cc"


def _said(command: Sequence[str]) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        raise CannotBuild(f"{shlex.join(command)} does not run: a typed build needs Cython and a C compiler") from error
    return done.stdout + done.stderr


def compile_modules(root: Path, cache: Path, flavour: str) -> dict[Module, Path]:
    """Every typed module below `root` with its binary in `cache`. Compiles those that are not there yet.

    Raises `CannotBuild`.
    """
    compilers = Compilers.here(flavour)
    binaries = _binaries(root, cache, compilers)
    missing = [(module, binary) for module, binary in binaries.items() if not binary.exists()]
    missing.sort(key=lambda pair: -(root / pair[0].source).stat().st_size)  # none of the longest is left for the end
    cache.mkdir(parents=True, exist_ok=True)
    with ThreadPoolExecutor(os.cpu_count()) as threads:
        for _ in threads.map(lambda pair: _compile(root, pair[0], pair[1], compilers), missing):
            pass
    return binaries


def _binaries(root: Path, cache: Path, compilers: Compilers) -> dict[Module, Path]:
    """Where the binary of each module belongs, by what its source and its types say now."""
    return {module: cache / f"{module.name}.{_key(root, module, compilers)}.so" for module in typed_modules(root)}


def _key(root: Path, module: Module, compilers: Compilers) -> str:
    types = "".join(f"{path}\n{(root / path).read_text()}" for path in types_read_for(root, module))
    parts = (
        module.name,
        (root / module.source).read_text(),
        types,
        compilers.versions,
        repr(compilers.flags + _CYTHON),
    )
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:20]


def _compile(root: Path, module: Module, binary: Path, compilers: Compilers) -> None:
    with tempfile.TemporaryDirectory(dir=binary.parent) as folder:
        c, made = Path(folder, "module.c"), Path(folder, "module.so")
        _run([sys.executable, "-m", "cython", *_CYTHON, "-M", "-o", str(c), str(module.source)], root)
        _require_known_types(root, module, Path(f"{c}.dep").read_text())
        include = f"-I{sysconfig.get_path('include')}"
        _run([*compilers.c, *compilers.flags, include, str(c), "-o", str(made)], root)
        # Cython has read the source after its key was made. A binary under a key of another source would stay there.
        if _binaries(root, binary.parent, compilers).get(module) != binary:
            raise CannotBuild(f"{module.source} or a type has changed while it was compiled; build again")
        made.replace(binary)


def _require_known_types(root: Path, module: Module, dependencies: str) -> None:
    """Raises `CannotBuild` if Cython has read a file of ours that the key of the module does not know."""
    read = {Path(name) for name in dependencies.split() if name.startswith(f"{PACKAGE}/")}
    if unknown := read.difference(types_read_for(root, module), {module.source}):
        names = ", ".join(sorted(map(str, unknown)))
        raise CannotBuild(f"{module.source} is compiled with types that `types_read_for` does not name: {names}")


def _run(command: Sequence[str], folder: Path) -> None:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        raise CannotBuild(f"{shlex.join(command)}\n{done.stdout}{done.stderr}")
