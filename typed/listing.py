"""Lists the compiled modules of a build with their sources, for the check at the start of a process."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from balancer.manifest import manifest_of
from typed.modules import PACKAGE, Module


def listing_of(root: Path, binaries: Mapping[Module, Path]) -> str:
    """The text of `balancer.manifest.NAME` for these modules of the project at `root`."""
    files = {module.binary: path for module, path in binaries.items()}
    files |= {module.source: root / module.source for module in binaries}
    return manifest_of({name.relative_to(PACKAGE).as_posix(): path for name, path in files.items()})
