"""The project as it is, with one small typed module in the place of the whole data plane."""

from __future__ import annotations

import shutil
from pathlib import Path

ROOT = Path(__file__).parents[3]
_NEEDED = ("LICENSE", "README.md", "pyproject.toml")


def project_at(folder: Path) -> Path:
    """Makes that project in `folder`, and returns the folder."""
    for name in _NEEDED:
        folder.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, folder)
    shutil.copytree(ROOT / "typed", folder / "typed", ignore=shutil.ignore_patterns("__pycache__"))
    for package in ("balancer", "ingress"):
        (folder / package).mkdir()
        (folder / package / "__init__.py").touch()
    shutil.copy(ROOT / "balancer" / "manifest.py", folder / "balancer")
    (folder / "balancer" / "one.py").write_text("def one():\n    return 1\n")
    (folder / "balancer" / "one.pxd").write_text("cpdef one()\n")
    return folder
