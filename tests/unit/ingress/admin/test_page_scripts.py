"""What the page makes of events, asked of its own modules in Node: they need no browser and no network."""

from __future__ import annotations

import json
import shutil
import subprocess
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.large

PLAYED = """
import { State } from "./state.js";
import { RouteRates } from "./samples.js";
import { matrix, serviceFigures, summary } from "./figures.js";
import { verdict } from "./verdict.js";

const replica = { own_zone: "a", started_at_epoch_seconds: 1 };
const state = new State();
const counted = (name, at) => ({
  namespace: "shop", name, mode: "zonal", zones: [{ zone: "a", ready: 2 }],
  requests: { local: 30 * at, remote: 10 * at }, retries: 2 * at, durations: { local: [20 * at, 10 * at] },
});
const told = [];
for (const at of [1, 2, 3, 4, 5]) {
  state.take({
    at_epoch_seconds: at, whole: at === 1, bounds_seconds: [0.1, 1], replica,
    flows: [{ from_zone: "a", to_zone: "b", requests: 10 * at }],
    services: [counted("cart", at), ...(at > 3 ? [counted("late", at - 3)] : [])],
    timeline: [{ at_epoch_seconds: at, seconds: 1, local: 30, remote: 10 }],
    gone: [],
  });
  const figures = [...state.services.values()].map((samples) => serviceFigures(samples, state));
  told.push({ figures, total: matrix(state).total, all: summary(state).requests, said: verdict(state, figures).text });
}
state.take({ at_epoch_seconds: 6, bounds_seconds: [0.1, 1], replica, gone: ["shop/late"] });
const rates = new RouteRates();
const route = (at) => ({ host: "h", path: "/", kind: "Exact", requests: 3 * at });
const routes = (at) => rates.rows({ at_epoch_seconds: at, routes: [route(at)] });
console.log(JSON.stringify({ told, left: [...state.services.keys()], routes: [routes(1), routes(3)] }));
"""


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The figures after each of five events a second apart."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("there is no Node on this machine, so the modules of /ui are asked in a browser alone")
    place: Path = tmp_path_factory.mktemp("page")
    for each in (files("ingress.admin") / "ui").iterdir():
        if each.name.endswith(".js"):
            (place / each.name).write_bytes(each.read_bytes())
    (place / "played.mjs").write_text(PLAYED)
    (place / "package.json").write_text('{"type": "module"}')
    ran = subprocess.run([node, place / "played.mjs"], check=True, capture_output=True)
    found: dict[str, Any] = json.loads(ran.stdout)
    return found


def test_rates_are_those_between_events(played: dict[str, Any]) -> None:
    last = played["told"][-1]
    (cart, _) = last["figures"]
    assert (cart["requests"], cart["local"], cart["localShare"], cart["retries"]) == (40, 30, 0.75, 2)
    assert (last["total"], last["all"]) == (10, 40)


def test_one_that_comes_later_had_counted_nothing_before(played: dict[str, Any]) -> None:
    first = played["told"][3]["figures"][1]
    assert (first["name"], first["requests"], first["retries"]) == ("shop/late", 40, 2)


def test_quantiles_lie_inside_their_bucket(played: dict[str, Any]) -> None:
    cart = played["told"][-1]["figures"][0]
    assert 0 < cart["p50"] <= 0.1 < cart["p99"] <= 1
    assert cart["p99Remote"] is None


def test_the_first_sentence_says_how_much_stays(played: dict[str, Any]) -> None:
    assert played["told"][-1]["said"] == "75 % of the requests stay in a."


def test_one_that_is_gone_has_no_row(played: dict[str, Any]) -> None:
    assert played["left"] == ["shop/cart"]


def test_a_route_has_a_rate_after_its_second_document(played: dict[str, Any]) -> None:
    (first,), (second,) = played["routes"]
    assert (first["requestRate"], second["requestRate"]) == (None, 3)
