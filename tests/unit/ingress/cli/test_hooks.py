"""`zonal hooks test`: a hook is tried without a proxy."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from ingress.cli.commands import cli
from ingress.cli.flags import BadInput
from tests.unit.sources import ROOT

TENANT = str(ROOT / "deploy" / "examples" / "hooks" / "tenant.py")
STAMP = str(ROOT / "deploy" / "examples" / "hooks" / "stamp.py")
SETTINGS = '{"tiers": {"acme": "gold"}}'


def said(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(cli, ["hooks", "test", *arguments])
    return result.exit_code, result.output


def test_a_request_goes_on_or_is_answered() -> None:
    asked = (TENANT, "--settings", SETTINGS, "--request", "GET https://shop.test/")
    assert said(*asked, "-H", "X-Tenant: acme") == (0, "request: goes on\n  x-tenant: acme\n  x-tenant-tier: gold\n")
    assert said(*asked) == (1, "request: answered with 403\n")


def test_a_response_is_shown() -> None:
    assert said(STAMP, "--settings", '{"set": {"x-a": "b"}}') == (0, "response: goes on\n  x-a: b\n")


def test_a_response_hook_sees_the_fields_of_both(tmp_path: Path) -> None:
    hook = tmp_path / "echoes.py"
    hook.write_text(
        "from zonal_hooks import hook\n@hook\n"
        "def response(r): r.set_header('x-seen', ' '.join((*r.request.headers.all('x-a'), r.headers['server'])))\n"
    )
    status, output = said(str(hook), "-H", "X-A: 1", "-H", "X-A: 2", "--response-header", "Server: app")
    assert (status, output) == (0, "response: goes on\n  server: app\n  x-seen: 1 2 app\n")


def test_every_choice_is_shown(tmp_path: Path) -> None:
    hook = tmp_path / "picks.py"
    hook.write_text(
        "from zonal_hooks import hook\n@hook\ndef pick(r):\n    r.set_canary('next')\n"
        "    r.set_zone_policy('off')\n    r.set_affinity_key('k')\n"
    )
    assert said(str(hook)) == (0, "request: goes on\n  zone policy: off\n  canary: next\n  affinity key: k\n")


def test_a_hook_reads_the_body_that_it_asks_for(tmp_path: Path) -> None:
    hook = tmp_path / "sized.py"
    hook.write_text(
        "from zonal_hooks import Deny, hook\n@hook(body=True)\ndef request(r): return Deny(400 + len(r.body))\n"
    )
    assert said(str(hook), "--body", "abc") == (1, "request: answered with 403\n")
    assert said(str(hook)) == (1, "request: answered with 400\n")


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ((TENANT,), "the settings do not fit hook tenant"),
        ((TENANT, "--settings", SETTINGS, "--request", "/"), "is no request"),
        ((TENANT, "-H", "x"), "--header 'x' is not NAME:VALUE"),
        ((STAMP, "--response-header", "x"), "--response-header 'x' is not NAME:VALUE"),
        ((STAMP, "--body", "x"), "does not ask for bodies"),
        (("none.py",), "cannot read none.py: No such file"),
    ],
)
def test_what_cannot_be_tried_is_told(arguments: tuple[str, ...], problem: str) -> None:
    result = CliRunner().invoke(cli, ["hooks", "test", *arguments])
    assert isinstance(result.exception, BadInput)
    assert problem in str(result.exception)


def test_what_is_no_text_is_told(tmp_path: Path) -> None:
    (tmp_path / "image.py").write_bytes(b"\xff\xfe")
    result = CliRunner().invoke(cli, ["hooks", "test", str(tmp_path / "image.py")])
    assert str(result.exception) == f"{tmp_path / 'image.py'} is no Python source in UTF-8"


def test_a_hook_that_fails_is_told(tmp_path: Path) -> None:
    (tmp_path / "sick.py").write_text("from zonal_hooks import hook\n@hook\ndef request(r): 1/0\n")
    status, output = said(str(tmp_path / "sick.py"))
    assert status == 1
    assert "problem: raised: ZeroDivisionError" in output
