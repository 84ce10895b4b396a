"""A dump that kubectl wrote as one list, with a DaemonSet of ingress-nginx and 22 Ingresses of further kinds.

What each command says of the dump is what the others say, and what sockets show.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from ingress.migration.checking import check_dump
from ingress.migration.gateway.command import run_move
from ingress.migration.rehearsal.command import RehearseOptions, run_rehearse
from ingress.migration.verdicts import Review
from ingress.migration.writing import MigrateOptions, run_migrate
from ingress.settings.context import TranslationContext
from tests.integration.test_sign_in import users
from tests.integration.whole_dumps import PEOPLE, Probe, log_line, seen, serving_dump

DUMP = PEOPLE / "store-dump.yaml"
CONTEXT = TranslationContext(ingress_class="nginx", configmap="ingress-nginx/ingress-nginx-controller")
# As the arguments of the controller in the dump say.
SERVED = TranslationContext(
    ingress_class="nginx",
    controller_class="k8s.io/ingress-nginx",
    configmap="edge/nginx-config",
    default_ssl_certificate="edge/wildcard",
    enable_ssl_passthrough=True,
    watch_ingress_without_class=True,
    allow_local_endpoints=True,
)
VERDICTS = {
    "aliased": "misrouted",  # an alias is an expression
    "apex": "works",
    "both-ranges": "works",
    "classless": "works",
    "copied": "works",
    "default-cert": "works",
    "denied": "works",
    "either": "works",
    "errors": "works",
    "hashed": "works differently",
    "ledger": "works",
    "limited": "works differently",
    "lines": "works",
    "lua": "closed",
    "overlaps": "works",
    "passed": "works differently",
    "sessions": "works differently",
    "sso": "works",
    "statuses": "works",
    "versions": "works",
    "www": "works",
    "www-eu": "works",
}
STORE = ".store.example.com"
ALWAYS, NEVER = ("Cookie: region_eu=always",), ("Cookie: region_eu=never",)
LINES = {
    "x-frame-options": "SAMEORIGIN",
    "x-robots-tag": "none",
    "cache-control": "private, max-age=60",
    "sent-x-tier": "basic",
}
PROBES = (
    Probe("www", f"www{STORE}", "front"),
    Probe("www", f"www{STORE}", "front", sends=("X-Region: us",)),
    Probe("www-eu", f"www{STORE}", "front-eu", sends=("X-Region: eu",)),
    Probe("www-eu", f"www{STORE}", "front-eu", sends=("X-Region: us", *ALWAYS)),
    Probe("www", f"www{STORE}", "front", sends=NEVER),
    Probe("sessions", f"cart{STORE}", "front"),
    Probe("versions", f"versions{STORE}", "api", "/v12/items/a/b?x=1", {"target": "/v12/a/b?x=1"}),
    Probe("versions", f"versions{STORE}", "fallback", "/legacy/z", {"target": "/legacy//"}),
    Probe("versions", f"versions{STORE}", "404", "/vx/items/a"),
    Probe("overlaps", f"files{STORE}", "api", "/files/12"),
    Probe("overlaps", f"files{STORE}", "api", "/FILES/12"),
    Probe("overlaps", f"files{STORE}", "fallback", "/files/public/a"),
    Probe("overlaps", f"files{STORE}", "front", "/files/12a"),
    Probe("aliased", f"alias{STORE}", "api"),
    Probe("aliased", "alias.example.net", "api"),
    Probe("apex", "shop.example.net", "front"),
    Probe("apex", "www.shop.example.net", "308", "/a?b=c", {"location": "http://shop.example.net/a?b=c"}),
    Probe("denied", f"denied{STORE}", "403"),
    Probe("both-ranges", f"ranges{STORE}", "api"),
    Probe("errors", f"errors{STORE}", "api"),
    Probe("hashed", f"hashed{STORE}", "api"),
    Probe("copied", f"copied{STORE}", "api"),
    Probe("default-cert", f"plain{STORE}", "308", "/a", {"location": f"https://plain{STORE}/a"}),
    Probe("lines", f"lines{STORE}", "api", shows=LINES),
    Probe("lines", f"lines{STORE}", "api", shows={"sent-x-tier": "gold"}, sends=("X-Tier: gold",)),
    Probe("lines", f"lines{STORE}", "405", method="DELETE"),
    Probe("statuses", f"statuses{STORE}", "api", shows={"x-gone": "", "cache-control": "max-age=3600"}),
    Probe("lua", f"lua{STORE}", "503"),
    Probe("either", f"either{STORE}", "401", shows={"www-authenticate": 'Basic realm="Store"'}),
    Probe("either", f"either{STORE}", "api", sends=("Authorization: Basic Zm9vOmJhcg==",)),
    Probe("classless", f"classless{STORE}", "api", "/a"),
    Probe("classless", f"classless{STORE}", "front", "/b"),
    Probe("classless", f"classless{STORE}", "404", "/a/"),
)
# What a log does not tell: fields of clients, and from which address a request came to the source ranges.
UNTOLD = {"www-eu", "either", "denied", "both-ranges"}


@pytest.fixture(scope="module")
def review() -> Review:
    return check_dump(DUMP, CONTEXT, now_epoch_seconds=0.0)


def test_the_check_says_what_is_expected(review: Review) -> None:
    assert {each.name: each.verdict.value for each in review.ingresses} == VERDICTS
    assert review.controller is not None
    assert {each.name for each in review.controller.arguments} >= {"--configmap", "--v"}
    assert "--" not in {each.name for each in review.controller.arguments}


def test_a_move_says_what_the_check_says(review: Review, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run_migrate(MigrateOptions(source=DUMP, output=tmp_path / "new", context=CONTEXT))
    said = capsys.readouterr().out
    told = {
        name: verdict for name, verdict in VERDICTS.items() if f"shop/{name} (store-dump.yaml): {verdict}\n" in said
    }
    assert told == {name: verdict for name, verdict in VERDICTS.items() if verdict != "works"}


async def test_sockets_show_what_commands_foresee(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    services = ("front", "front-eu", "api", "oops", "fallback")
    async with serving_dump(DUMP, SERVED, services, users("users", "foo:{PLAIN}bar\n")) as plane:
        found = [await seen(plane, each) for each in PROBES]
    assert found == [(each.answer, each.shows) for each in PROBES]
    assert {each.ingress for each in PROBES if each.answer == "503"} == {
        name for name, verdict in VERDICTS.items() if verdict == "closed"
    }
    log = tmp_path / "access.log"
    told = [each for each in PROBES if each.ingress not in UNTOLD]
    log.write_text("\n".join(log_line(each, each.answer) for each in told))
    assert run_rehearse(RehearseOptions(log=log, source=DUMP, context=CONTEXT)) == 0, capsys.readouterr().out


def test_a_move_to_gateway_api_writes_no_name_that_the_api_refuses(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run_move(MigrateOptions(source=DUMP, output=tmp_path / "new", context=CONTEXT, gateway="zonal/zonal"))
    assert "server-alias ~^alias[0-9]+[.]example[.]net$ is no host name" in capsys.readouterr().out
    written = "".join(path.read_text() for path in (tmp_path / "new").rglob("*.yaml"))
    assert "alias.example.net" in written
    assert "~^" not in written
