"""What threads decode was seen by msgspec before: two that see a type for the first time at once crash the process."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytestmark = pytest.mark.large

_ASKED_AGAIN = """
import sys
import msgspec
import {module} as module
called = set()
sys.setprofile(lambda frame, event, argument: called.add(frame.f_code.co_name))
msgspec.json.Decoder(module.{name})
sys.setprofile(None)
raise SystemExit("get_class_annotations" in called)  # msgspec looks at the fields of a type once
"""


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("ingress.cli.terminal.asking", "Overview"),
        ("ingress.webhook.admission", "_Review"),
        ("ingress.objects.endpoint_hints", "_HintsDocument"),
        ("ingress.objects.converting", "Ingress"),
        ("ingress.objects.converting", "Service"),
        ("ingress.objects.converting", "EndpointSlice"),
        ("ingress.objects.converting", "Secret"),
        ("ingress.objects.converting", "ConfigMap"),
    ],
)
def test_a_type_that_threads_decode_is_seen_at_import(module: str, name: str) -> None:
    code = _ASKED_AGAIN.format(module=module, name=name)
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
