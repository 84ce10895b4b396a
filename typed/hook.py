"""The hook of the wheel: the wheel is one for this platform and holds the compiled modules.

With `ZONAL_PURE=1` the wheel is pure, and building it needs neither Cython nor a compiler. It is never made in the
place of the other one without being asked for.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

CYTHON = "cython>=3.3.1,<4"
_REFUSED = """zonal: no wheel was made, because the data plane could not be compiled:
{error}
Install a C compiler (gcc), or set ZONAL_PURE=1 for the pure wheel, whose requests take two to three times the CPU."""


class TypedBuildHook(BuildHookInterface[Any]):
    """Adds the compiled modules to a wheel. An editable installation never gets any: its sources change."""

    @property
    def _is_pure(self) -> bool:
        return os.environ.get("ZONAL_PURE", "") not in ("", "0")

    def dependencies(self) -> list[str]:
        return [] if self._is_pure else [CYTHON]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if self._is_pure or version == "editable":
            return
        sys.path.insert(0, self.root)  # a hook is read as a file, without its package
        from balancer.manifest import NAME
        from typed.compiling import CannotBuild, compile_modules
        from typed.listing import listing_of

        root = Path(self.root)
        listing = root / "build" / "typed" / NAME
        try:
            binaries = compile_modules(root, root / "build" / "typed" / "cache", "release")
        except CannotBuild as error:
            sys.exit(_REFUSED.format(error=error))  # one message in place of the traceback of a build tool
        build_data["pure_python"], build_data["infer_tag"] = False, True
        listing.write_text(listing_of(root, binaries))
        build_data["force_include"][str(listing)] = f"balancer/{NAME}"
        for module, binary in binaries.items():
            build_data["force_include"][str(binary)] = str(module.binary)
