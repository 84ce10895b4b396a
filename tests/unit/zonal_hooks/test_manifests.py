"""What is told of a hook by a process that runs its file in the place of others."""

from __future__ import annotations

import subprocess
import sys

import msgspec
import pytest

from tests.unit.sources import ROOT
from tests.unit.zonal_hooks.test_loading import PLAIN, TENANT
from zonal_hooks.loading import NotAHook, digest_of, load_text
from zonal_hooks.manifests import Asked, Manifest, Phase, Told, answer, manifest_of


def told(asked: Asked) -> Told:
    return msgspec.json.decode(answer(msgspec.json.encode(asked)), type=Told)


def told_by_a_process(text: str) -> Told:
    done = subprocess.run(
        [sys.executable, "-m", "zonal_hooks.manifests"],
        input=msgspec.json.encode(Asked("x", "x.py", text)),
        capture_output=True,
        cwd=ROOT,
        check=True,
    )
    return msgspec.json.decode(done.stdout, type=Told)


def test_a_manifest_says_what_a_hook_does() -> None:
    assert told(Asked("plain", "plain.py", PLAIN)).manifest == Manifest(
        "plain", digest_of(PLAIN), (Phase("request", 0.02, "deny"),)
    )


def test_the_schema_has_no_room_for_a_misspelt_setting() -> None:
    manifest = told(Asked("tenant", "tenant.py", TENANT)).manifest
    assert manifest is not None
    schema = msgspec.json.decode(manifest.schema)
    assert schema["$defs"]["Settings"]["additionalProperties"] is False
    assert schema["$defs"]["Settings"]["required"] == ["tenants"]


def test_a_problem_is_told() -> None:
    assert told(Asked("x", "x.py", "1/0")) == Told(problem="x.py, line 1: ZeroDivisionError: division by zero")
    assert "ModuleNotFoundError" in told(Asked("x", module="no_such_module_anywhere")).problem


def test_settings_without_a_schema_are_refused() -> None:
    text = (
        "import msgspec\nfrom zonal_hooks import hook\nclass Odd: pass\nclass S(msgspec.Struct):\n    odd: Odd\n"
        "@hook\ndef request(r, s: S): pass\n"
    )
    with pytest.raises(NotAHook, match="no schema"):
        manifest_of(load_text("x", text))


@pytest.mark.large
@pytest.mark.parametrize(
    "before", ["print('{}')", "import threading, time; threading.Thread(target=time.sleep, args=(60,)).start()"]
)
def test_nothing_that_a_file_does_spoils_the_answer(before: str) -> None:
    found = told_by_a_process(f"{before}\n{PLAIN}").manifest
    assert found is not None
    assert found.name == "x"
