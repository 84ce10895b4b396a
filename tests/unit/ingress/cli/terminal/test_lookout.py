"""`zonal top` looks at replicas again and again, and goes on without those that are gone."""

from __future__ import annotations

import pytest

from ingress.cli.terminal.lookout import CannotShow, Lookout, TopOptions
from tests.unit.ingress.cli.terminal.documents import overview
from tests.unit.ingress.cli.terminal.ports import admin_port, closed_url


def test_top_goes_on_without_a_replica_that_is_gone() -> None:
    with admin_port(overview(1.0), overview(2.0)) as port:
        watch = Lookout(TopOptions(admins=(port.url, gone := closed_url())))
        watch.look()
        watch.look()
        assert [(each.admin, each.problem) for each in watch.problems] == [(gone, "connection refused")]
    with pytest.raises(CannotShow, match="connection refused"):
        watch.look()
