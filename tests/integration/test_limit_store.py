"""Two replicas that do not hear each other have one limit exactly, because one server counts for both."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fakes.limit_server import SERVER, WITHOUT, limit_server
from tests.integration.conversing import value
from tests.integration.manifests import ingress, path, rule
from tests.integration.running import completed, running
from tests.integration.shop import HOST, shop
from tests.integration.wire import get

LIMIT = {
    "nginx.ingress.kubernetes.io/limit-rpm": "5",
    "nginx.ingress.kubernetes.io/limit-burst-multiplier": "1",
    "zonal-ingress.io/limit-scope": "fleet",
}
PASSES = 6  # one, and the burst


@pytest.mark.skipif(SERVER is None, reason=WITHOUT)
async def test_one_limit_holds_for_two_replicas_and_without_the_server_for_each(tmp_path: Path) -> None:
    store = tmp_path / "store"
    async with limit_server(tmp_path) as server, shop(tmp_path) as opened:
        store.write_text(server.url)
        opened.folder.write("web.yaml", ingress("web", rule(HOST, path("/", "cart")), annotations=LIMIT))
        folders = [tmp_path / f"manifests-{number}" for number in (1, 2)]
        for folder in folders:
            folder.symlink_to(opened.place)
        option = f"--limit-store={store}"
        async with running(folders[0], option) as one, running(folders[1], option, "--workers=2") as other:
            answers = [(await get((one, other)[number % 2].http_port, HOST)).status for number in range(20)]
            outcomes = {
                name: sum([await value(each, "zonal_limit_store_answers", outcome=name) for each in (one, other)])
                for name in ("passed", "refused", "late", "away")
            }
            # A replica judges by itself whom the server has not answered in time.
            alone = outcomes["late"] + outcomes["away"]
            assert PASSES - alone <= answers.count(200) <= PASSES + alone
            assert set(answers) == {200, 503}
            assert outcomes["passed"] <= PASSES
            server.stop()
            again = [(await get(one.http_port, HOST)).status for _ in range(10)]
            assert again.count(200) <= PASSES, "it counts by itself, and lets its own rate pass"
            assert again[0] == 200


async def test_a_store_that_cannot_be_used_ends_the_start_with_one_line(tmp_path: Path) -> None:
    (tmp_path / "store").write_text("http://:secret@nowhere")
    ended = await completed("run", "--source", str(tmp_path), "--limit-store", str(tmp_path / "store"))
    assert ended.status == 2
    assert "write a URL such as valkey://HOST:6379/0 into it" in ended.err
    assert "secret" not in ended.err
