"""The hook of the wheel: the wheel is one for this platform and holds the compiled modules.

With `ZONAL_PURE=1` the wheel is pure, and building it needs neither Cython nor a compiler. It is never made in the
place of the other one without being asked for.
"""

from __future__ import annotations

import hashlib
import os
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

CYTHON = "cython>=3.3.1,<4"
_REFUSED = """zonal: no wheel was made, because the data plane could not be compiled:
{error}
Install a C compiler (gcc), or set ZONAL_PURE=1 for the pure wheel, whose requests take up to 2.5 times the CPU."""


class TypedBuildHook(BuildHookInterface[Any]):
    """Adds the compiled modules to a wheel, and says in an SBOM what it was made of.

    An editable installation never gets any compiled module: its sources change.
    """

    @property
    def _is_pure(self) -> bool:
        return os.environ.get("ZONAL_PURE", "") not in ("", "0")

    def dependencies(self) -> list[str]:
        return [] if self._is_pure else [CYTHON]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "editable":
            return
        sys.path.insert(0, self.root)  # a hook is read as a file, without its package
        from typed.compiling import CannotBuild

        root = Path(self.root)
        made = root / "build" / "typed"
        made.mkdir(parents=True, exist_ok=True)
        try:
            sbom = self._sbom() if self._is_pure else self._compiled(root, made, build_data)
        except CannotBuild as error:
            sys.exit(_REFUSED.format(error=error))  # one message in place of the traceback of a build tool
        from typed.sbom import NAME

        (made / NAME).write_text(sbom)
        build_data["sbom_files"].append(str(made / NAME))

    def _compiled(self, root: Path, made: Path, build_data: dict[str, Any]) -> str:
        """Adds the compiled modules and their list. Returns the SBOM. Raises `CannotBuild`."""
        from balancer.manifest import NAME
        from typed.compiling import Compilers, compile_modules
        from typed.listing import listing_of

        binaries = compile_modules(root, made / "cache", "release")
        build_data["pure_python"], build_data["infer_tag"] = False, True
        (made / NAME).write_text(listing_of(root, binaries))
        included = build_data["force_include"]
        included[str(made / NAME)] = f"balancer/{NAME}"
        included |= {str(binary): str(module.binary) for module, binary in binaries.items()}
        hashes = {module: hashlib.sha256(binary.read_bytes()).hexdigest() for module, binary in binaries.items()}
        return self._sbom(compilers=Compilers.here("release"), modules=hashes)

    def _sbom(self, **made_with: Any) -> str:
        from typed.sbom import sbom_of

        core = self.metadata.core
        given = {"compilers": None, "modules": {}} | made_with
        return sbom_of(core.raw_name, core.version or self.metadata.version, str(core.license_expression), **given)
