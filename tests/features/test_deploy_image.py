"""The Dockerfile: locked, without a shell, without root, and made of what the repository has.

No container engine is needed: the file is read as Docker reads it.
"""

from __future__ import annotations

import fnmatch
import json
import re
import tomllib
from typing import NamedTuple

import pytest

from ingress.cli.commands import cli
from tests.features.deploying.finding import pod
from tests.features.deploying.rendering import ROOT, manifests

Stage = list[tuple[str, str]]


class Copy(NamedTuple):
    """One COPY: where from (empty: the build context), what, and where to."""

    origin: str
    sources: tuple[str, ...]
    target: str


def instructions() -> list[tuple[str, str]]:
    """Every instruction, as word and rest; continued lines are one."""
    text = (ROOT / "Dockerfile").read_text()
    joined = re.sub(r"\\\n\s*", "", re.sub(r"^\s*#.*\n", "", text, flags=re.MULTILINE))
    words = (line.partition(" ") for line in filter(None, joined.splitlines()))
    return [(word, rest.strip()) for word, _, rest in words]


def stages() -> list[Stage]:
    """The instructions of each stage. Those before the first FROM are of no stage."""
    found: list[Stage] = []
    for word, rest in instructions():
        if word == "FROM":
            found.append([])
        if found:
            found[-1].append((word, rest))
    return found


def defaults(of: list[tuple[str, str]]) -> dict[str, str]:
    """The build arguments among instructions, with their default values."""
    parts = (rest.partition("=") for word, rest in of if word == "ARG")
    return {name: value.strip('"') for name, _, value in parts}


def labels(stage: Stage) -> dict[str, str]:
    """The labels of a stage, without the prefix of the OCI's annotations."""
    text = " ".join(rest for word, rest in stage if word == "LABEL")
    return dict(re.findall(r'org\.opencontainers\.image\.([a-z.]+)="([^"]*)"', text))


def copies(stage: Stage) -> list[Copy]:
    found = []
    for word, rest in stage:
        if word == "COPY":
            words = rest.split()
            origin = "".join(each.removeprefix("--from=") for each in words if each.startswith("--from="))
            *sources, target = [each for each in words if not each.startswith("--")]
            found.append(Copy(origin, tuple(sources), target))
    return found


def commands(stage: Stage, *kinds: str) -> list[list[str]]:
    """The command lines of instructions, which must be in the form that needs no shell."""
    return [json.loads(rest) for word, rest in stage if word in kinds]


def is_ignored(path: str) -> bool:
    """Whether .dockerignore keeps a path of the repository out of the build; the last pattern that fits decides."""
    verdict = False
    for pattern in (ROOT / ".dockerignore").read_text().splitlines():
        if pattern and not pattern.startswith("#"):
            bare = pattern.removeprefix("!").removeprefix("**/")
            parts = path.split("/")
            fits = any(fnmatch.fnmatch("/".join(parts[: number + 1]), bare) for number in range(len(parts)))
            fits = fits or (pattern.startswith("**/") and any(fnmatch.fnmatch(part, bare) for part in parts))
            verdict = not pattern.startswith("!") if fits else verdict
    return verdict


def test_there_are_two_stages_of_one_slim_python() -> None:
    bases = [stage[0][1].split(" AS ")[0] for stage in stages()]
    assert bases == ["${BUILD_IMAGE}", "${BASE_IMAGE}"]
    images = defaults(instructions()[:2])
    assert re.fullmatch(r"python:3\.1[1-4]-slim", images["BASE_IMAGE"])
    assert images["BUILD_IMAGE"] == images["BASE_IMAGE"].removesuffix("-slim"), "the same Python, with a compiler"


def test_the_wheel_is_compiled_unless_an_argument_of_the_first_stage_says_otherwise() -> None:
    first = stages()[0]
    assert defaults(first)["ZONAL_PURE"] == ""
    order = [word for word, rest in first if rest.startswith("ZONAL_PURE") or '"wheel"' in rest]
    assert order == ["ARG", "RUN"], "an argument is a variable of the commands after it"


def test_the_image_and_the_development_environment_have_one_compiler() -> None:
    ours, theirs = ((ROOT / "requirements" / name).read_text() for name in ("typed.txt", "dev.txt"))
    (pinned,) = re.findall(r"^(\w+==\S+)", ours, flags=re.MULTILINE)
    assert pinned.startswith("cython==")
    assert pinned in theirs


def test_the_labels_say_what_the_image_is_and_what_it_was_made_from() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    last = stages()[-1]
    told = labels(last)
    assert told["title"] == "zonal"
    assert [told[name] for name in ("version", "description", "licenses")] == [
        project[name] for name in ("version", "description", "license")
    ]
    assert (told["revision"], told["base.name"]) == ("${REVISION}", "${BASE_IMAGE}")
    assert {"REVISION", "BASE_IMAGE"} <= set(defaults(last)), "an argument from before FROM is empty in a stage"


def test_no_instruction_needs_a_shell() -> None:
    run = [each for stage in stages() for each in commands(stage, "RUN", "ENTRYPOINT", "CMD")]
    assert not [each for each in run if {"sh", "bash", "-c"} & set(each)]
    assert "ADD" not in {word for stage in stages() for word, _ in stage}


def test_every_package_comes_from_the_lock_with_its_hash() -> None:
    installs = [each for stage in stages() for each in commands(stage, "RUN") if "install" in each]
    assert [each for each in installs if not {"--require-hashes", "--no-index"} & set(each)] == []
    locked = {each[each.index("--requirement") + 1] for each in installs if "--requirement" in each}
    assert locked == {f"requirements/{name}.txt" for name in ("build", "otel", "sbom", "typed")}


@pytest.mark.parametrize(
    ("name", "least"), [("build.txt", 4), ("run.txt", 4), ("otel.txt", 4), ("typed.txt", 1), ("sbom.txt", 4)]
)
def test_every_line_of_a_lock_is_an_exact_version_with_a_hash(name: str, least: int) -> None:
    text = (ROOT / "requirements" / name).read_text().replace("\\\n", " ")
    lines = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    assert len(lines) >= least
    assert [line for line in lines if "==" not in line.split()[0] or "--hash=sha256:" not in line] == []


def test_the_last_stage_takes_nothing_but_the_environment_that_was_built() -> None:
    (last,) = stages()[-1:]
    assert copies(last) == [Copy("build", ("/opt/zonal",), "/opt/zonal")]


def test_everything_that_is_copied_exists_and_is_not_ignored() -> None:
    sources = [source for each in copies(stages()[0]) for source in each.sources]
    assert [each for each in sources if not (ROOT / each).exists() or is_ignored(each)] == []
    assert {"balancer", "ingress", "pyproject.toml"} <= set(sources)


@pytest.mark.parametrize("path", [".git/config", "tests/conftest.py", "deploy/examples/shop/secret.yaml", "a.key"])
def test_nothing_else_reaches_the_build(path: str) -> None:
    assert is_ignored(path)
    assert is_ignored("ingress/__pycache__/cli.cpython-313.pyc")
    assert not is_ignored("ingress/cli/commands.py")


def test_the_image_runs_as_the_user_of_the_manifests() -> None:
    spec = pod(manifests())["spec"]["securityContext"]
    users = [rest for word, rest in stages()[-1] if word == "USER"]
    assert users == [f"{spec['runAsUser']}:{spec['runAsGroup']}"]


def test_the_image_starts_the_command_and_exposes_its_ports() -> None:
    (last,) = stages()[-1:]
    assert commands(last, "ENTRYPOINT", "CMD") == [["zonal"], ["run"]]
    ports = {each.name: each.default for each in cli.commands["run"].params}
    (exposed,) = [rest.split() for word, rest in last if word == "EXPOSE"]
    assert exposed == [str(ports[f"{name}_port"]) for name in ("http", "https", "admin")]


def test_the_image_lists_what_it_holds() -> None:
    (listing,) = [each for each in commands(stages()[0], "RUN") if each[0] == "cyclonedx-py"]
    asked, written = listing[-1], listing[listing.index("--output-file") + 1]
    assert asked == "/opt/zonal/bin/python"
    assert written.startswith("/opt/zonal/"), "only that folder reaches the last stage"
    order = [each[0] for each in commands(stages()[0], "RUN") if "zonal-ingress" in each or each == listing]
    assert order == ["python", "cyclonedx-py"], "after the installation"


def test_nothing_is_left_to_compile_whenever_a_worker_starts() -> None:
    everything = [each for stage in stages() for each in commands(stage, "RUN")]
    assert not [each for each in everything if "--no-compile" in each]
    assert ["python", "-m", "compileall", "-q", "/usr/local/lib"] in commands(stages()[-1], "RUN")


def test_the_image_has_no_installer_and_writes_no_bytecode() -> None:
    (last,) = stages()[-1:]
    assert ["python", "-m", "pip", "uninstall", "--yes", "pip"] in commands(last, "RUN")
    assert any("PYTHONDONTWRITEBYTECODE=1" in rest for word, rest in last if word == "ENV")
