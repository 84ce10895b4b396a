"""Questions to a server with the HTTP API of Prometheus, and pages in its text format."""

from __future__ import annotations

import pytest

from ingress.migration.command import CannotCheck
from ingress.migration.savings.prometheus import Prometheus, by, label, scraped
from tests.fakes.prometheus import prometheus


def test_a_question_has_its_time_its_login_and_its_samples() -> None:
    with prometheus({"up": [({"job": "a"}, 2.5)]}) as server:
        asking = Prometheus(f"{server.url}/", ["Authorization: Bearer x"])
        assert asking.ask("sum(up[1d])", at_epoch_seconds=12.5) == [({"job": "a"}, 2.5)]
        assert asking.ask("sum(down[1d])", at_epoch_seconds=12.5) == []
    assert [(each.at_epoch_seconds, each.authorization) for each in server.asked] == [(12.5, "Bearer x")] * 2


def test_an_error_of_the_server_is_one_line() -> None:
    with prometheus({}, status=401) as server, pytest.raises(CannotCheck, match="answers 401"):
        Prometheus(server.url).ask("up", at_epoch_seconds=0.0)


def test_nobody_there_is_one_line() -> None:
    with prometheus({}) as server:
        gone = server.url
    with pytest.raises(CannotCheck, match=f"^{gone}: Connection refused$"):
        Prometheus(gone).ask("up", at_epoch_seconds=0.0)


@pytest.mark.parametrize("field", ["Authorization", ": x", "a: b\r\nc: d"])
def test_a_field_needs_a_name_and_a_value_on_one_line(field: str) -> None:
    with pytest.raises(CannotCheck, match="--header takes NAME:VALUE"):
        Prometheus("http://127.0.0.1:9", [field])


def test_pages_are_added_and_nonsense_is_refused() -> None:
    page = '# TYPE a gauge\na{host="x"} 3\n'
    assert scraped([("pod-1", page), ("pod-2", page)])["a"] == [({"host": "x"}, 3.0)] * 2
    with pytest.raises(CannotCheck, match="pod-1 holds no metrics in the text format"):
        scraped([("pod-1", "<html>nothing")])


def test_a_label_that_the_server_has_renamed_counts_first() -> None:
    assert label({"namespace": "monitoring", "exported_namespace": "shop"}, "namespace") == "shop"
    assert label({"namespace": "shop"}, "namespace") == "shop"
    assert label({}, "namespace") == ""
    assert by("namespace", "host") == "namespace, host, exported_namespace, exported_host"
