"""The hook of the wheel: with `ZONAL_TYPED=1` the wheel is one for this platform and holds the compiled modules.

Without it the wheel is pure, and building it needs neither Cython nor a compiler.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

CYTHON = "cython>=3.3.1,<4"


class TypedBuildHook(BuildHookInterface[Any]):
    """Adds the compiled modules to a wheel. An editable installation never gets any: its sources change."""

    @property
    def _wanted(self) -> bool:
        return os.environ.get("ZONAL_TYPED", "") not in ("", "0")

    def dependencies(self) -> list[str]:
        return [CYTHON] if self._wanted else []

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if not self._wanted or version == "editable":
            return
        sys.path.insert(0, self.root)  # a hook is read as a file, without its package
        from typed.compiling import compile_modules

        root = Path(self.root)
        binaries = compile_modules(root, root / "build" / "typed" / "cache", "release")
        build_data["pure_python"], build_data["infer_tag"] = False, True
        for module, binary in binaries.items():
            build_data["force_include"][str(binary)] = str(module.binary)
