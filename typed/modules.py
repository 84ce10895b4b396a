"""Says which modules are typed, and how their compiled files are called."""

from __future__ import annotations

import sysconfig
from dataclasses import dataclass
from pathlib import Path

PACKAGE = "balancer"
SUFFIX = sysconfig.get_config_var("EXT_SUFFIX")


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
    """Every module of the data plane that has types, in the order of their names.

    Raises `FileNotFoundError` for types without a source.
    """
    modules = []
    for types in types_below(root):
        if types.stem in (LAYOUTS, CALLS):
            continue
        source = types.with_suffix(".py")
        if not (root / source).is_file():
            raise FileNotFoundError(f"{types} has no {source.name} beside it")
        modules.append(Module(source, types))
    return modules
