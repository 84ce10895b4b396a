"""Whether `balancer`, `ingress` and `zonal_hooks` are the packages of this distribution (docs/adr/0040-names.md).

Two distributions that have a package of one name are installed into one folder, and pip says nothing: the later one
replaces the modules that both have, and its removal removes them. Every package has an `__init__.py`, so that module
shows whose package it is.
"""

from __future__ import annotations

import base64
import hashlib
from importlib.machinery import PathFinder
from importlib.metadata import Distribution, PackageNotFoundError, packages_distributions
from pathlib import Path

DISTRIBUTION = "zonal-ingress"
PACKAGES = ("balancer", "ingress", "zonal_hooks")


def foreign_package(home: Path = Path(__file__).parents[1]) -> str:
    """What is wrong with the first package that is not the one that was installed beside this one; empty if none is.

    `home` is the folder where the packages stand. An installed distribution has recorded the hash of every module
    (PEP 376); a checkout has none, and then only the place counts.
    """
    recorded = _recorded(home)
    for name in PACKAGES:
        first = home / name / "__init__.py"
        found = PathFinder.find_spec(name)
        if not first.is_file() or (recorded and recorded.get(name) != _hash_of(first)):
            return f"{_named(name)} in {home} is not that of {DISTRIBUTION}: {_ADVICE}"
        if found is None or found.origin is None or not first.samefile(found.origin):
            return f"{_named(name)} is found in {found and found.origin} and not in {home}: {_ADVICE}"
    return ""


_ADVICE = f"install {DISTRIBUTION} again, into an environment of its own"


def _recorded(home: Path) -> dict[str, str]:
    """The hash of the first module of each package, as the installer wrote it."""
    try:
        distribution = next(iter(Distribution.discover(name=DISTRIBUTION, path=[str(home)])))
    except (StopIteration, PackageNotFoundError):
        return {}
    files = {str(file): file.hash for file in distribution.files or ()}
    hashes = {name: files.get(f"{name}/__init__.py") for name in PACKAGES}
    return {name: found.value for name, found in hashes.items() if found is not None and found.mode == "sha256"}


def _hash_of(path: Path) -> str:
    digest = hashlib.sha256(path.read_bytes()).digest()
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()


def _named(name: str) -> str:
    """The package, and which other distributions say that it is theirs."""
    others = sorted(set(packages_distributions().get(name, ())) - {DISTRIBUTION})
    return f"the package {name!r}" + (f" (also of {', '.join(others)})" if others else "")
