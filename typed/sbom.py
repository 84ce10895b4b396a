"""Says what a wheel was made of and with, as an SBOM: CycloneDX 1.6, where PEP 770 has it.

Packages that an installation brings are not part of a wheel: `METADATA` names them, and the image has an SBOM of its
own. Equal input makes equal text, so a file has neither a serial number nor a time.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from typed.compiling import Compilers
from typed.modules import Module

NAME: Final = "zonal-ingress.cdx.json"
"""The name of the file in `sboms/`."""

_SPEC: Final = "1.6"
_VERSION = re.compile(r"\d+(?:\.\d+)+\w*")


def sbom_of(
    name: str, version: str, licence: str, *, compilers: Compilers | None, modules: Mapping[Module, str]
) -> str:
    """The SBOM of a wheel. `compilers` None: it is pure. `modules` are the compiled ones with their SHA-256."""
    own = {"type": "application", "licenses": [{"license": {"id": licence}}], **_package(name, version)}
    document: dict[str, Any] = {
        "bomFormat": "CycloneDX",
        "specVersion": _SPEC,
        "version": 1,
        "metadata": {"component": own},
    }
    if compilers is not None:
        document["metadata"]["tools"] = {"components": [{"type": "application", **each} for each in _tools(compilers)]}
        # Cython writes functions of its own into every module that it compiles.
        inside = {"type": "library", **_package("cython", _number(compilers.cython))}
        document["components"] = [
            inside | {"licenses": [{"license": {"id": "Apache-2.0"}}]},
            *({**_file(module, digest)} for module, digest in sorted(modules.items(), key=lambda each: each[0].name)),
        ]
        document["dependencies"] = [{"ref": own["bom-ref"], "dependsOn": [inside["bom-ref"]]}]
    return json.dumps(document, indent=1) + "\n"


def _package(name: str, version: str) -> dict[str, str]:
    purl = f"pkg:pypi/{name}@{version}"
    return {"bom-ref": purl, "name": name, "version": version, "purl": purl}


def _tools(compilers: Compilers) -> list[dict[str, str]]:
    program = Path(compilers.c[0]).name
    return [
        {"name": "cython", "version": _number(compilers.cython)},
        {"name": program, "version": compilers.compiler.partition("\n")[0]},
    ]


def _file(module: Module, digest: str) -> dict[str, Any]:
    place = module.binary.as_posix()
    return {"type": "file", "bom-ref": place, "name": place, "hashes": [{"alg": "SHA-256", "content": digest}]}


def _number(said: str) -> str:
    """The version in what a program says of itself."""
    found = _VERSION.search(said)
    return found[0] if found else said.strip()
