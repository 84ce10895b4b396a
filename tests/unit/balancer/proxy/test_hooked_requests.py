"""Where a `pick` hook leads a request, over real sockets; `tests/features/test_hooks.py` has everything else."""

from __future__ import annotations

import pytest

from ingress.settings.context import TranslationContext
from tests.fakes.backends import echoing
from tests.features.hooks.serving import HOST, OWN, hook_of
from tests.integration.in_process import data_plane
from tests.integration.manifests import config_map, endpoint_slice, ingress, ingress_class, path, rule, service
from tests.integration.wire import Connection

NGINX = "nginx.ingress.kubernetes.io/"
PICK = "@hook(timeout='20s')\n{}def pick(r):\n    {}\n"


async def served_by(body: str, *targets: str, is_async: bool = False) -> list[tuple[str, str]]:
    """Service and endpoint of the answers to these targets, behind a `pick` hook with this body and a canary of 0 %."""
    hook = hook_of("pick", PICK.format("async " if is_async else "", body))
    async with (
        echoing("web", {"zone-a": 2, "zone-b": 2}) as webs,
        echoing("beta", {"zone-a": 1}) as betas,
        data_plane() as plane,
    ):
        findings = plane.serve(
            [
                ingress_class(),
                config_map(ssl_redirect="false", zone_aware_routing="true"),
                service("web"),
                service("beta"),
                *(endpoint_slice(each) for each in (*webs, *betas)),
                ingress("main", rule(HOST, path("/", "web")), annotations={OWN + "hooks": "pick"}),
                ingress(
                    "canary",
                    rule(HOST, path("/", "beta")),
                    annotations={NGINX + "canary": "true", NGINX + "canary-weight": "0"},
                ),
            ],
            TranslationContext(allow_local_endpoints=True, hooks=(hook,), zone="zone-a"),
        )
        assert findings == ()
        async with await Connection.open(plane.http_port) as connection:
            told = [(await connection.get(HOST, target)).json() for target in targets]
    return [(each["service"], each["zone"] + each["endpoint"]) for each in told]


@pytest.mark.parametrize(
    ("body", "service_"),
    [
        ("r.set_canary(True)", "beta"),
        ("r.set_canary('beta')", "beta"),
        ("r.set_canary('gamma')", "web"),
        ("r.set_canary(False)", "web"),
        ("pass", "web"),
    ],
)
async def test_a_hook_chooses_the_canary(body: str, service_: str) -> None:
    assert [name for name, _ in await served_by(body, "/a", "/b")] == [service_] * 2


async def test_a_hook_chooses_how_zones_count() -> None:
    at_home = {place[:6] for _, place in await served_by("pass", *["/"] * 8)}
    anywhere = {place[:6] for _, place in await served_by("r.set_zone_policy('off')", *["/"] * 8)}
    assert at_home == {"zone-a"}
    assert anywhere == {"zone-a", "zone-b"}


async def test_requests_of_one_key_go_to_one_endpoint() -> None:
    body = "r.set_affinity_key(r.path); r.set_zone_policy('off')"
    paths = [f"/{number}" for number in range(8)]
    places = await served_by(body, *paths, *paths, is_async=True)
    assert places[:8] == places[8:]
    assert len(set(places)) > 1


LAST = {NGINX + "configuration-snippet": "rewrite ^/old/(.*)$ /new/$1 last;"}
SNIPPETS = {"ssl_redirect": "false", "allow-snippet-annotations": "true", "annotations-risk-level": "Critical"}
SEEN = "@hook\ndef request(r): r.set_header('x-seen', r.path + ' ' + r.target)\n"
SEEN += "@hook\ndef response(r): r.set_header('x-b', '2')\n"


async def test_a_path_that_a_snippet_changes_is_shown_to_the_hooks_of_its_new_route() -> None:
    hook = hook_of("seen", SEEN)
    async with echoing("web", {"zone-a": 1}) as (web,), data_plane() as plane:
        cluster = [ingress_class(), config_map(**SNIPPETS), service("web"), endpoint_slice(web)]
        old = ingress("old", rule(HOST, path("/", "web")), annotations=LAST)
        new = ingress("new", rule(HOST, path("/new", "web")), annotations={OWN + "hooks": "seen"})
        context = TranslationContext(allow_local_endpoints=True, hooks=(hook,))
        assert plane.serve([*cluster, old, new], context) == ()
        async with await Connection.open(plane.http_port) as connection:
            answer = await connection.get(HOST, "/old/a%20b?c")
        fields = {name.lower(): value for name, value in answer.json()["headers"]}
        assert (answer.json()["target"], answer.field("x-b")) == ("/new/a%20b?c", "2")
        assert fields["x-seen"] == "/new/a b /new/a%20b?c"
        both = ingress("old", rule(HOST, path("/", "web")), annotations={**LAST, OWN + "hooks": "seen"})
        (finding,) = plane.serve([*cluster, both, new], context)
        assert "rewrite … last is used beside hooks" in finding.message
        async with await Connection.open(plane.http_port) as connection:
            assert (await connection.get(HOST, "/old/a")).status == 503
