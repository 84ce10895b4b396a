"""Blocked clients: texts ignore case, expressions do what they say, and a missing field is an empty one."""

from __future__ import annotations

import pytest

from balancer.errors import ErrorKind
from balancer.http.origin import Origin
from balancer.matching.gates.blocked_clients import BlockingGate, entry_problem, expression_of
from balancer.matching.gates.verdicts import Asked, Deny, Go
from balancer.model.entry_points import HTTP
from balancer.model.gates import BlockedClients
from tests.questions import question_of


def is_blocked(rule: BlockedClients, *fields: str) -> bool:
    asked = Asked(question_of("http://shop.test/", fields).request, Origin(peer="", entry_point=HTTP), secure=False)
    verdict = BlockingGate(rule).judge(asked, lambda _: None)
    assert verdict in (Go(), Deny(ErrorKind.CLIENT_BLOCKED))
    return isinstance(verdict, Deny)


@pytest.mark.parametrize(
    ("entry", "agent", "expected"),
    [
        ("AlphaBot", "AlphaBot", True),
        ("AlphaBot", "alphabot", True),
        ("AlphaBot", "AlphaBot/2", False),
        ("~bot$", "curlbot", True),
        ("~bot$", "CURLBOT", False),
        ("~*bot$", "CURLBOT", True),
        (r"~*chrome\/68\.0\ safari", "Mozilla Chrome/68.0 Safari/5", True),
        (r"\~tilde", "~tilde", True),
        ("~^$", "", True),
        ("AlphaBot", "", False),
    ],
)
def test_an_entry_names_user_agents(entry: str, agent: str, expected: bool) -> None:
    fields = [f"User-Agent: {agent}"] if agent else []
    assert is_blocked(BlockedClients(agents=(entry,)), *fields) is expected


def test_referers_have_a_list_of_their_own() -> None:
    rule = BlockedClients(agents=("AlphaBot",), referers=("~*evil\\.test",))
    assert is_blocked(rule, "Referer: https://www.EVIL.test/x")
    assert not is_blocked(rule, "Referer: AlphaBot", "User-Agent: evil.test")


def test_entries_are_texts_or_expressions() -> None:
    assert expression_of("Bot") is None
    assert expression_of("~Bot") == "Bot"
    assert expression_of("~*Bot") == "(?i)Bot"


def test_an_expression_that_does_not_compile_is_told() -> None:
    assert entry_problem("(") is None
    assert entry_problem("~(") is not None
    assert entry_problem("~(a{1000}){1000}") is not None
    assert entry_problem("~ok") is None
