"""Which table a host gets: the simplest one that its routes allow."""

from __future__ import annotations

import msgspec
import pytest

from balancer.matching.careful_tables import CarefulTable
from balancer.matching.choice_tables import ChoiceTable
from balancer.matching.gates.making import make_gate
from balancer.matching.host_compiling import compiling_host
from balancer.matching.host_tables import ExpressionTable, PathTable
from balancer.model.conditions import Conditions
from balancer.model.gates import SourceRanges
from balancer.model.routes import Host, PathKind, PathParameters, Route
from balancer.runtime.steps import finished
from tests import builders as build

GUARDED = msgspec.structs.replace(build.route("/secret"), gates=(SourceRanges(allowed=("10.0.0.0/8",)),))
EXPRESSION = msgspec.structs.replace(build.route("/a"), kind=PathKind.REGEX, expression="^/a")
POST = msgspec.structs.replace(build.route("/a"), conditions=Conditions("POST"))


@pytest.mark.parametrize(
    ("routes", "parameters", "table"),
    [
        ((), PathParameters.REFUSE, PathTable),
        ((build.route("/a"),), PathParameters.REFUSE, PathTable),
        ((EXPRESSION,), PathParameters.REFUSE, ExpressionTable),
        ((POST,), PathParameters.REFUSE, ChoiceTable),
        ((EXPRESSION, build.route("/a")), PathParameters.REFUSE, ChoiceTable),
        ((build.route("/"), GUARDED), PathParameters.REFUSE, CarefulTable),
        ((build.route("/"),), PathParameters.STRIP, CarefulTable),
    ],
)
def test_a_host_has_the_simplest_table(routes: tuple[Route, ...], parameters: PathParameters, table: type) -> None:
    host = Host("a.test", routes, path_parameters=parameters)
    assert type(finished(compiling_host(host, None, make_gate))) is table
