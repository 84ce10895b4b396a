"""The command `zonal explain` on a folder: text for people, JSON for tools, and an exit status for scripts."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

from ingress.cli.commands import cli
from ingress.cli.flags import BadInput
from ingress.explain.command import CannotExplain, ExplainOptions, explain_live
from tests.integration.manifests import (
    Document,
    ManifestFolder,
    config_map,
    ingress,
    ingress_class,
    path,
    rule,
    service,
)
from tests.unit.ingress.cli.terminal.ports import closed_url

URL = "http://shop.test/"
NODE: Document = {
    "apiVersion": "v1",
    "kind": "Node",
    "metadata": {"name": "node-1", "labels": {"topology.kubernetes.io/zone": "zone-b"}},
}


class Ended(NamedTuple):
    """How a command ended, and what it said."""

    status: int
    out: str
    err: str

    @property
    def json(self) -> dict[str, Any]:
        return dict(json.loads(self.out))


class Command:
    """`zonal explain` on one folder."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder = folder
        self._capsys = capsys

    def __call__(self, *arguments: str, url: str = URL) -> Ended:
        with pytest.raises(SystemExit) as ended:
            cli.main(["explain", url, "--source", str(self.folder), *arguments], standalone_mode=False)
        out, err = self._capsys.readouterr()
        return Ended(int(str(ended.value.code)), out, err)


def slice_of(name: str, zones: Mapping[str, str], *, of: str = "cart", namespace: str = "shop") -> Document:
    """A slice with an endpoint for each address, in the zone that goes with it."""
    return {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {"name": name, "namespace": namespace, "labels": {"kubernetes.io/service-name": of}},
        "addressType": "IPv4",
        "ports": [{"name": "http", "port": 8080}],
        "endpoints": [
            {"addresses": [address], "zone": zone, "targetRef": {"kind": "Pod", "name": f"pod-{address}"}}
            for address, zone in zones.items()
        ],
    }


@pytest.fixture
def explain(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Command:
    """A shop with two endpoints in zone-a and one in zone-b, and a canary in zone-c."""
    folder = ManifestFolder(tmp_path / "manifests")
    carts = {"10.0.0.1": "zone-a", "10.0.0.2": "zone-a", "10.0.0.3": "zone-b"}
    trial = {"canary": "true", "canary-by-header": "X-Try"}
    annotations = {f"nginx.ingress.kubernetes.io/{name}": text for name, text in trial.items()}
    folder.write("cart.yaml", service("cart"), slice_of("cart-1", carts))
    folder.write("next.yaml", service("next"), slice_of("next-1", {"10.0.1.1": "zone-c"}, of="next"))
    folder.write("web.yaml", ingress_class(), ingress("web", rule("shop.test", path("/", "cart"))), NODE)
    folder.write("trial.yaml", ingress("trial", rule("shop.test", path("/", "next")), annotations=annotations))
    folder.write("settings.yaml", config_map(zone_aware_routing="true"))
    return Command(folder.place, capsys)


def test_tools_get_every_key(explain: Command) -> None:
    ended = explain("--zone", "zone-a", "-o", "json")
    told = ended.json
    assert (ended.status, ended.err) == (0, "")
    assert told.pop("steps")
    assert told == {
        "host": "shop.test",
        "path": "/",
        "ingress": "shop/web",
        "service": "shop/cart",
        "canary": None,
        "own_zone": "zone-a",
        "own_zone_source": "flag",
        "policy": "prefer-zone",
        "policy_source": "default",
        "mode": "zonal",
        "reason": "zone_local",
        "pool": [
            {"endpoint": "10.0.0.1:8080", "zone": "zone-a", "probability": 0.5},
            {"endpoint": "10.0.0.2:8080", "zone": "zone-a", "probability": 0.5},
        ],
        "endpoint": None,
        "to_zone": "zone-a",
        "status": None,
        "error": None,
        "location": None,
        "target": None,
        "certificate": None,
        "limits": {
            "max_body_bytes": 1048576,
            "connect_timeout_seconds": 5.0,
            "send_timeout_seconds": 60.0,
            "read_timeout_seconds": 60.0,
            "tries": 3,
            "retry_seconds": 0.0,
            "max_concurrency": 0,
            "max_concurrency_per_endpoint": 0,
        },
        "endpoints": [
            {"endpoint": "10.0.0.1:8080", "zone": "zone-a", "node": None, "pod": "pod-10.0.0.1", "state": "ready"},
            {"endpoint": "10.0.0.2:8080", "zone": "zone-a", "node": None, "pod": "pod-10.0.0.2", "state": "ready"},
            {"endpoint": "10.0.0.3:8080", "zone": "zone-b", "node": None, "pod": "pod-10.0.0.3", "state": "ready"},
        ],
    }


def test_people_get_a_headline_the_steps_and_the_pool(explain: Command) -> None:
    ended = explain("--zone", "zone-a")
    first, *lines = ended.out.splitlines()
    assert first == f"{URL} -> shop/cart, policy prefer-zone, mode zonal, reason zone_local, zone zone-a"
    assert "  1. The request is for host shop.test and path /." in lines
    assert lines[-2:] == [" 50.00%  10.0.0.1:8080  zone-a", " 50.00%  10.0.0.2:8080  zone-a"]


def test_every_endpoint_is_listed_once_when_asked_for(explain: Command) -> None:
    assert "pod-10.0.0.3" not in explain("--zone", "zone-a").out
    lines = explain("--zone", "zone-a", "--verbose").out.splitlines()
    first = lines.index("endpoint       zone    node  pod           state")
    assert lines[first + 1 : first + 4] == [
        "10.0.0.1:8080  zone-a  -     pod-10.0.0.1  ready",
        "10.0.0.2:8080  zone-a  -     pod-10.0.0.2  ready",
        "10.0.0.3:8080  zone-b  -     pod-10.0.0.3  ready",
    ]


def test_the_headline_of_a_rollout_has_each_reason_with_its_share(explain: Command) -> None:
    settings = config_map(zone_aware_routing="true", zone_rollout="50")
    ManifestFolder(explain.folder).write("settings.yaml", settings)
    first = explain("--zone", "zone-a").out.splitlines()[0]
    assert "reason zone_local (50%) and rollout_excluded (50%), zones zone-a, zone-b" in first


@pytest.mark.parametrize(
    ("url", "headline"),
    [
        ("http://other.test/", "404 no_route"),
        ("http://shop.test/..", "400 bad_request"),
        ("http://tls.test/a?b", "308 to https://tls.test/a?b, then shop/cart, policy prefer-zone"),
        ("http://lost.test/", "503 no_backend, shop/gone"),
    ],
)
def test_the_headline_says_what_zonal_itself_answers(explain: Command, url: str, headline: str) -> None:
    folder = ManifestFolder(explain.folder)
    redirected = {"nginx.ingress.kubernetes.io/force-ssl-redirect": "true"}
    folder.write("tls.yaml", ingress("tls", rule("tls.test", path("/", "cart")), annotations=redirected))
    folder.write("lost.yaml", ingress("lost", rule("lost.test", path("/", "gone"))))
    ended = explain("--zone", "zone-a", url=url)
    assert ended.out.splitlines()[0].startswith(f"{url} -> {headline}")
    status = headline[:3]
    assert explain("--expect-status", status, url=url).status == 0
    refused = explain("--expect-status", "endpoint", url=url)
    assert (
        refused.status,
        refused.err.startswith(f"zonal: expected status endpoint, but the answer is {status} "),
    ) == (
        1,
        True,
    )


def test_header_fields_lead_to_a_canary(explain: Command) -> None:
    told = explain("--zone", "zone-a", "-H", "X-Try: always", "--header", "X-Other:1", "-o", "json").json
    assert (told["service"], told["canary"], told["reason"], told["to_zone"]) == (
        "shop/next",
        "shop/trial",
        "zone_empty",
        "zone-c",
    )


def test_the_own_node_tells_the_zone(explain: Command) -> None:
    told = explain("--node-name", "node-1", "-o", "json").json
    assert (told["own_zone"], told["own_zone_source"], told["to_zone"]) == ("zone-b", "node", "zone-b")


def test_variables_fill_what_no_flag_says(explain: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ZONAL_ZONE", "zone-b")
    monkeypatch.setenv("ZONAL_HEADER", "X-Try:always")
    monkeypatch.setenv("ZONAL_OUTPUT", "json")
    assert explain().json["canary"] == "shop/trial"
    assert explain("-H", "X-Try: never").json["to_zone"] == "zone-b"


@pytest.mark.parametrize(
    ("arguments", "status", "words"),
    [
        (["--expect-zone", "zone-a"], 0, ""),
        (["--expect-zone", "zone-b"], 1, "zonal: expected zone zone-b, but requests go to zone-a\n"),
        (["--expect-status", "endpoint"], 0, ""),
        (
            ["--expect-status", "200"],
            1,
            "zonal: expected status 200, but an endpoint answers, with a status that only a request can tell "
            "(--expect-status endpoint)\n",
        ),
        (["--expect-service", "shop/cart"], 0, ""),
        (["--expect-service", "shop/next"], 1, "zonal: expected Service shop/next, but it is shop/cart\n"),
        (["--expect-service", "shop/cart", "--expect-zone", "zone-a"], 0, ""),
    ],
)
def test_expectations_decide_the_exit_status(explain: Command, arguments: list[str], status: int, words: str) -> None:
    ended = explain("--zone", "zone-a", "-o", "json", *arguments)
    assert (ended.status, ended.err) == (status, words)
    assert ended.json["reason"] == "zone_local"


def test_a_pool_of_several_zones_meets_no_expectation_of_one(explain: Command) -> None:
    ended = explain("--zone", "zone-c", "--expect-zone", "zone-a")
    assert (ended.status, ended.err) == (1, "zonal: expected zone zone-a, but requests go to zone-a, zone-b\n")
    ended = explain("--expect-zone", "zone-a", "--expect-service", "shop/cart", url="http://other.test/")
    assert (ended.status, ended.err.splitlines()) == (
        1,
        [
            "zonal: expected zone zone-a, but requests go to no endpoint",
            "zonal: expected Service shop/cart, but it is none",
        ],
    )


def test_options_that_change_what_is_served_count(explain: Command) -> None:
    for option, value in (("--ingress-class", "zonal"), ("--watch-namespace", "shop")):
        assert explain(option, value, "-o", "json").json["service"] == "shop/cart"
    assert explain("--controller-class", "other", "-o", "json").json["service"] is None
    assert explain("--watch-namespace", "other", "-o", "json").json["service"] is None
    assert explain("--configmap", "zonal/other", "-o", "json").json["policy_source"] == "flag-off"
    fallback = explain("--default-backend-service", "shop/next", "-o", "json", url="http://other.test/").json
    assert (fallback["ingress"], fallback["service"]) == (None, "shop/next")


def test_replicas_are_counted_for_the_policy_that_asks(explain: Command) -> None:
    folder = ManifestFolder(explain.folder)
    replicas = {"10.0.9.1": "zone-a", "10.0.9.2": "zone-b"}
    folder.write(
        "settings.yaml", config_map(zone_aware_routing="true", zone_policy="proportional", zone_min_cluster_size="1")
    )
    folder.write(
        "own.yaml",
        service("zonal", namespace="zonal"),
        slice_of("zonal-1", replicas, of="zonal", namespace="zonal"),
    )
    assert explain("--zone", "zone-b", "-o", "json").json["reason"] == "own_replicas_unknown"
    told = explain("--zone", "zone-b", "--publish-service", "zonal/zonal", "-o", "json").json
    assert {share["reason"] for share in told["shares"]} == {"proportional_local", "proportional_residual"}
    assert sum(each["probability"] for each in told["pool"]) == pytest.approx(1)


def test_loopback_endpoints_have_to_be_allowed(explain: Command) -> None:
    ManifestFolder(explain.folder).write("cart.yaml", service("cart"), slice_of("cart-1", {"127.0.0.1": "zone-a"}))
    refused = explain("--zone", "zone-a", "-o", "json").json
    assert (refused["pool"], refused["reason"]) == ([], None)
    assert any(step.startswith("Finding EndpointRefused, EndpointSlice shop/cart-1") for step in refused["steps"])
    assert explain("--zone", "zone-a", "--allow-local-endpoints", "-o", "json").json["to_zone"] == "zone-a"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["explain", URL], "--source DIR"),
        (["explain", URL, "--source", "missing"], "cannot read manifest folder missing"),
        (["explain", URL, "--source", "missing", "--admin", "http://127.0.0.1:1"], "not both"),
        (["explain", URL, "--admin", "127.0.0.1:1"], "--admin takes the URL"),
        (["explain", URL, "--admin", "http://127.0.0.1:port"], "--admin http://127.0.0.1:port"),
        (["explain", URL, "--source", "missing", "--configmap", "zonal"], "--configmap"),
        (["explain", URL, "--source", "missing", "--expect-service", "cart"], "--expect-service"),
        (["explain", URL, "--source", "missing", "--expect-status", "ok"], "--expect-status takes a status such as"),
    ],
)
def test_what_cannot_work_is_said_in_one_line(arguments: list[str], words: str) -> None:
    with pytest.raises(BadInput, match=words) as refused:
        cli.main(arguments, standalone_mode=False)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(("url", "field"), [("shop.test", "X: 1"), (URL, "X")])
def test_a_question_that_makes_no_sense_is_bad_input(explain: Command, url: str, field: str) -> None:
    with pytest.raises(BadInput):
        cli.main(["explain", url, "-H", field, "--source", str(explain.folder)], standalone_mode=False)


def test_text_of_others_cannot_forge_lines(explain: Command) -> None:
    ended = explain(url="http://shop.test/%0A%1B[31mred")
    assert "\x1b" not in ended.out
    assert "\\n\\x1b[31mred" in ended.out


def test_an_admin_port_that_refuses_is_told_in_words() -> None:
    gone = closed_url()
    with pytest.raises(CannotExplain) as refused:
        explain_live(ExplainOptions(url=URL), gone)
    assert str(refused.value) == f"--admin {gone}: Connection refused"


HOOK = """
from zonal_hooks import Deny, hook

@hook()
def request(request):
    if request.headers.get("x-tenant") is None:
        return Deny(403)
    request.set_header("x-tier", "gold")

@hook()
def pick(request):
    if request.headers.get("x-tenant") == "new":
        request.set_canary(True)
    else:
        request.set_zone_policy("off")
"""


@pytest.mark.large
def test_hooks_of_a_folder_are_run_and_what_they_choose_is_explained(explain: Command, tmp_path: Path) -> None:
    (tmp_path / "tenant.py").write_text(HOOK)
    selected = {"zonal-ingress.io/hooks": "tenant"}
    folder = ManifestFolder(explain.folder)
    folder.write(
        "web.yaml", ingress_class(), ingress("web", rule("shop.test", path("/", "cart")), annotations=selected), NODE
    )
    options = ("--zone", "zone-a", "-o", "json", "--hooks", str(tmp_path / "tenant.py"))
    stranger = explain(*options).json
    assert (stranger["status"], stranger["error"]) == (403, "hook_denied")
    acme = explain(*options, "-H", "X-Tenant: acme").json
    assert (acme["status"], acme["policy"], len(acme["pool"])) == (None, "off", 3)
    assert "Hook tenant gives the endpoint x-tier: gold." in acme["steps"]
    assert explain(*options, "-H", "X-Tenant: new").json["service"] == "shop/next"


def test_hooks_are_for_folders(explain: Command, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(BadInput, match="--hooks is for --source"):
        cli.main(["explain", URL, "--admin", closed_url(), "--hooks", str(tmp_path)], standalone_mode=False)
    with pytest.raises(BadInput, match="there is no such file"):
        explain("--hooks", str(tmp_path / "none.py"))


def test_a_file_that_kubectl_wrote_is_asked_like_a_folder(explain: Command, tmp_path: Path) -> None:
    whole = [each for file in sorted(explain.folder.iterdir()) for each in yaml.safe_load_all(file.read_text())]
    dump = tmp_path / "dump.yaml"
    dump.write_text(yaml.safe_dump({"apiVersion": "v1", "kind": "List", "items": whole}))
    of_folder = explain()
    explain.folder = dump
    assert explain() == of_folder
