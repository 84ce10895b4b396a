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


def typed_modules(root: Path) -> list[Module]:
    """Every module of the data plane that has types, in the order of their names.

    Raises `FileNotFoundError` for types without a source.
    """
    modules = []
    for types in sorted(path.relative_to(root) for path in (root / PACKAGE).rglob("*.pxd")):
        source = types.with_suffix(".py")
        if not (root / source).is_file():
            raise FileNotFoundError(f"{types} has no {source.name} beside it")
        modules.append(Module(source, types))
    return modules
