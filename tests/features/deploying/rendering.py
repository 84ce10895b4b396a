"""What would be installed: the plain manifests, and the chart for a few choices of values.

Responsible for renderings alone. Helm is not among the locked tools, so its output is kept in `rendered/`, with a
fingerprint of what it was made from: tests without Helm judge the kept output and notice when it is out of date.
After a change of the chart, with Helm on the PATH: `python -m tests.features.deploying.rendering`.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

import yaml

Document = dict[str, Any]

ROOT = Path(__file__).parents[3]
CHART = ROOT / "deploy" / "chart"
MANIFESTS = ROOT / "deploy" / "manifests"
NAMESPACE = "zonal"
VALUES = Path(__file__).with_name("values")
RENDERED = Path(__file__).with_name("rendered")
FINGERPRINT = RENDERED / "fingerprint"
SCHEMA = CHART / "values.schema.json"
CHOICES = tuple(sorted(path.stem for path in VALUES.glob("*.yaml")))
# Helm cannot ask a cluster here; what it assumes otherwise depends on its own version.
_KUBERNETES = "1.36.0"


class CannotRender(Exception):
    """Helm or kubectl refused; the text is what it said."""


def main() -> int:
    """Render the chart anew for every choice of values."""
    for choice in CHOICES:
        (RENDERED / f"{choice}.yaml").write_text(helm_template(VALUES / f"{choice}.yaml"))
    FINGERPRINT.write_text(fingerprint() + "\n")
    return 0


def fingerprint() -> str:
    """What the renderings depend on, as one SHA-256. The schema is left out, because it only refuses values."""
    digest = hashlib.sha256()
    for path in sorted(set(_files((CHART, VALUES))) - {SCHEMA}):
        digest.update(f"{path.relative_to(ROOT)}\n{path.stat().st_size}\n".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _files(folders: Iterable[Path]) -> Iterable[Path]:
    return (path for folder in folders for path in folder.rglob("*") if path.is_file())


def helm_template(values: Path, *, kubernetes: str = _KUBERNETES, chart: Path = CHART) -> str:
    """`chart` as Helm renders it for a version of Kubernetes. Raises CannotRender with what Helm said."""
    helm = shutil.which("helm")
    if helm is None:
        raise CannotRender("no helm on the PATH")
    place = ("--namespace", NAMESPACE, "--kube-version", kubernetes)
    return _output(helm, "template", "zonal", str(chart), "--values", str(values), *place)


@cache
def manifests() -> tuple[Document, ...]:
    """The objects of deploy/manifests, as kubectl builds them."""
    return kustomized(MANIFESTS)


def kustomized(folder: Path) -> tuple[Document, ...]:
    """The objects of a kustomization, as the kubectl of this environment builds them."""
    return documents(_output(str(Path(sys.executable).with_name("kubectl")), "kustomize", str(folder)))


@cache
def chart(choice: str) -> tuple[Document, ...]:
    """The objects of the kept rendering of a choice of values."""
    return documents((RENDERED / f"{choice}.yaml").read_text())


def values(choice: str) -> Document:
    """A choice of values, on top of the chart's own."""
    return _merged(
        yaml.safe_load((CHART / "values.yaml").read_text()), yaml.safe_load((VALUES / f"{choice}.yaml").read_text())
    )


def _merged(under: Document, over: Document) -> Document:
    both = {key: _merged(under[key], over[key]) for key in over if isinstance(under.get(key), dict)}
    return {**under, **over, **both}


def documents(text: str) -> tuple[Document, ...]:
    """The objects of a YAML stream."""
    return tuple(document for document in yaml.safe_load_all(text) if document)


def _output(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    if done.returncode:
        raise CannotRender(done.stderr)
    return done.stdout


if __name__ == "__main__":
    sys.exit(main())
