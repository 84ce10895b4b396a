"""The SBOM of a wheel: what is inside, what made it, and nothing that differs between two builds."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from typed.compiling import Compilers
from typed.modules import Module
from typed.sbom import sbom_of

COMPILERS = Compilers(("/usr/bin/gcc", "-m64"), ("-O2",), "Cython version 3.3.1\n", "gcc (Debian) 12.2.0\nmore\n")
MODULES = {
    Module(Path("balancer/two.py"), Path("balancer/two.pxd")): "22" * 32,
    Module(Path("balancer/one.py"), Path("balancer/one.pxd")): "11" * 32,
}


def read(**made_with: Any) -> dict[str, Any]:
    given = {"compilers": None, "modules": {}} | made_with
    document: dict[str, Any] = json.loads(sbom_of("zonal-ingress", "1.2.3", "Apache-2.0", **given))
    assert (document["bomFormat"], document["specVersion"]) == ("CycloneDX", "1.6")
    assert not {"serialNumber", "timestamp"} & {*document, *document["metadata"]}
    return document


def test_it_names_the_wheel() -> None:
    component = read()["metadata"]["component"]
    assert (component["name"], component["version"]) == ("zonal-ingress", "1.2.3")
    assert component["purl"] == "pkg:pypi/zonal-ingress@1.2.3"
    assert component["licenses"] == [{"license": {"id": "Apache-2.0"}}]


def test_a_pure_wheel_holds_nothing_of_others() -> None:
    assert set(read()) == {"bomFormat", "specVersion", "version", "metadata"}


def test_a_compiled_wheel_names_its_compilers_and_each_binary_with_its_hash() -> None:
    document = read(compilers=COMPILERS, modules=MODULES)
    tools = document["metadata"]["tools"]["components"]
    assert [(tool["name"], tool["version"]) for tool in tools] == [("cython", "3.3.1"), ("gcc", "gcc (Debian) 12.2.0")]
    cython, *files = document["components"]
    assert cython["purl"] == "pkg:pypi/cython@3.3.1"
    hashes = [(each["name"].partition(".")[0], each["hashes"][0]["content"]) for each in files]
    assert hashes == [("balancer/one", "11" * 32), ("balancer/two", "22" * 32)]


def test_every_reference_leads_to_a_component() -> None:
    document = read(compilers=COMPILERS, modules=MODULES)
    known = {each["bom-ref"] for each in (document["metadata"]["component"], *document["components"])}
    assert len(known) == 4
    for each in document["dependencies"]:
        assert {each["ref"], *each["dependsOn"]} <= known
