"""Says which modules are typed, and how their compiled files are called."""

from __future__ import annotations

import re
import sysconfig
from dataclasses import dataclass
from pathlib import Path

PACKAGE = "balancer"
SUFFIX = sysconfig.get_config_var("EXT_SUFFIX")


NATIVE = ".pyx"
"""How the sources of modules end that speak with C. Only compiled builds have them.

Their types stand beside them, as those of other modules do, or nobody needs any.
"""


@dataclass(frozen=True, slots=True)
class Module:
    """A typed module: its source and its types, as paths below the root of the project."""

    source: Path
    types: Path

    @property
    def name(self) -> str:
        return ".".join(self.source.with_suffix("").parts)

    @property
    def binary(self) -> Path:
        """Where the compiled module stands beside its source."""
        return self.source.with_name(self.source.stem + SUFFIX)


LAYOUTS = "layouts"
"""The name of modules that are not compiled. Their types say how structs of plain modules lie in memory."""

CALLS = "calls"
"""The name of modules that are not compiled. Compiled modules call C by their types in their place."""


def types_below(root: Path) -> list[Path]:
    """Every file of types below `root`, in the order of their names."""
    return sorted(path.relative_to(root) for path in (root / PACKAGE).rglob("*.pxd"))


def typed_modules(root: Path) -> list[Module]:
    """Every module of the data plane that has types, or is one of `NATIVE`, in the order of their names.

    Raises `FileNotFoundError` for types without a source.
    """
    modules = []
    for types in types_below(root):
        if types.stem in (LAYOUTS, CALLS):
            continue
        native, source = types.with_suffix(NATIVE), types.with_suffix(".py")
        if (root / native).is_file():
            source = native
        elif not (root / source).is_file():
            raise FileNotFoundError(f"{types} has no {source.name} beside it")
        modules.append(Module(source, types))
    known = {module.source for module in modules}
    natives = {path.relative_to(root) for path in (root / PACKAGE).rglob(f"*{NATIVE}")} - known
    return sorted([*modules, *(Module(path, path) for path in natives)], key=lambda module: module.types)


_CIMPORT = re.compile(r"^\s*(?:from\s+([\w.]+)\s+)?cimport\s+(\([^)]*\)|[^#\n]+)", re.MULTILINE)

_INCLUDE = re.compile(r'^include "([\w.]+)"$', re.MULTILINE)


def types_read_for(root: Path, module: Module) -> list[Path]:
    """The files of types that Cython may read to compile `module`: its own, and all that these name, step by step."""
    found: set[Path] = set()
    waiting = [module.types, module.source] if module.source.suffix == NATIVE else [module.types]
    while waiting:
        types = waiting.pop()
        if types not in found and (root / types).is_file():
            found.add(types)
            text = (root / types).read_text()
            waiting += _named_by(text) + [types.with_name(name) for name in _INCLUDE.findall(text)]
    return sorted(found)


def _named_by(text: str) -> list[Path]:
    """What the text of a file of types may name as others: modules, or names in modules."""
    named: list[Path] = []
    for package, names in _CIMPORT.findall(text):
        for name in (part.split()[0] for part in names.strip("() ").split(",") if part.strip()):
            parts = [*filter(None, package.split(".")), *name.split(".")]
            named += [Path(*parts).with_suffix(".pxd"), Path(*parts[:-1], "__init__.pxd")]
        named += [Path(*package.split(".")).with_suffix(".pxd")] if package else []
    return named
