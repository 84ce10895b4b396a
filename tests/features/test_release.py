"""The workflow of a release: pinned, with the least rights, and made of targets that everybody can run."""

from __future__ import annotations

import re
from typing import Any

import pytest
import yaml

from tests.features.deploying.rendering import ROOT

WORKFLOW = yaml.safe_load((ROOT / ".github" / "workflows" / "release.yml").read_text())
JOBS: dict[str, dict[str, Any]] = WORKFLOW["jobs"]


def steps(job: str, key: str) -> list[str]:
    """What the steps of a job use or run, in order."""
    return [step[key] for step in JOBS[job]["steps"] if key in step]


def test_a_tag_of_a_version_starts_it() -> None:
    assert WORKFLOW[True] == {"push": {"tags": ["v*"]}}  # YAML 1.1 reads `on` so


@pytest.mark.parametrize("job", JOBS)
def test_every_action_is_pinned_to_a_commit(job: str) -> None:
    assert steps(job, "uses")
    assert [each for each in steps(job, "uses") if not re.fullmatch(r"[\w./-]+@[0-9a-f]{40}", each)] == []


def test_only_the_last_job_may_sign_and_none_may_write_sources() -> None:
    assert WORKFLOW["permissions"] == {"contents": "read"}
    assert {name for name, job in JOBS.items() if "permissions" in job} == {"publish"}
    assert JOBS["publish"]["permissions"] == {"contents": "read", "id-token": "write", "attestations": "write"}
    assert steps("publish", "run") == [], "what may sign runs no code of the checkout"


def test_what_is_run_is_there() -> None:
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE))
    for command in (each for job in JOBS for each in steps(job, "run")):
        program, what = command.split()
        assert (program == "make" and what in targets) or (ROOT / what).is_file()


def test_wheels_are_tested_before_and_attested_before_they_are_published() -> None:
    assert (JOBS["wheels"]["needs"], JOBS["publish"]["needs"]) == ("test", "wheels")
    uses = [each.partition("@")[0] for each in steps("publish", "uses")]
    assert uses[1:] == ["actions/attest-build-provenance", "pypa/gh-action-pypi-publish"]
    attested = next(step["with"] for step in JOBS["publish"]["steps"] if "attest" in step["uses"])
    assert attested == {"subject-path": "dist/*.whl"}


def test_there_are_wheels_for_both_architectures() -> None:
    assert {each["name"] for each in JOBS["wheels"]["strategy"]["matrix"]["include"]} == {"x86_64", "aarch64"}
