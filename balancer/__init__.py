"""The data plane: serves the newest routing model. Knows nothing of Kubernetes and imports nothing from `ingress`.

A wheel for a platform holds compiled modules beside their sources (docs/typed.md). `ZONAL_PURE=1` takes the sources.
Otherwise all compiled modules must be of one build, or the process ends here: whatever came next would run a mixture.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib.machinery import SOURCE_SUFFIXES, FileFinder, ModuleSpec, SourceFileLoader
from types import ModuleType


class _PlainSource:
    """Finds modules of this package as sources only."""

    @staticmethod
    def find_spec(name: str, path: Sequence[str] | None, _target: ModuleType | None = None) -> ModuleSpec | None:
        if not name.startswith(f"{__name__}."):
            return None
        finders = (FileFinder(entry, (SourceFileLoader, SOURCE_SUFFIXES)) for entry in path or ())
        return next((spec for finder in finders if (spec := finder.find_spec(name)) is not None), None)


BUILD = ""
"""The name of the build whose compiled modules run; empty if the plain source does."""

if os.environ.get("ZONAL_PURE", "") not in ("", "0"):
    sys.meta_path.insert(0, _PlainSource)
else:
    from balancer.manifest import WrongBuild, checked_build

    try:
        BUILD = checked_build(os.path.dirname(__file__))
    except WrongBuild as error:
        sys.exit(f"zonal: {error}")
