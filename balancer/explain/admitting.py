"""What the gates of a route say of a request, in sentences. No I/O."""

from __future__ import annotations

from balancer.errors import ErrorKind
from balancer.explain.asking import Question
from balancer.matching.gates.source_ranges import SourceGate
from balancer.matching.gates.verdicts import Asked, Deny
from balancer.matching.routing import Served
from balancer.model.gates import SourceRanges

# Of the networks of a list, so many are named; a list may have hundreds.
_NAMED_MOST = 20


def gate_steps(served: Served, question: Question) -> tuple[ErrorKind | None, list[str]]:
    """The error that a gate answers with, None if every gate lets the request go on; and a sentence for each list.

    Without the address of the client nothing is known about source ranges, and the request is taken to go on.
    """
    denied: ErrorKind | None = None
    steps: list[str] = []
    for rule, gate in zip(served.route.gates, served.gates, strict=True):
        steps += _lists(rule)
        if not isinstance(gate, SourceGate):
            continue
        if not question.client:
            steps.append("Whether the client may pass depends on its address, which was not given.")
            continue
        verdict = gate.judge(Asked(question.request, question.client, question.secure), _never)
        if isinstance(verdict, Deny):
            denied = verdict.kind
            steps.append(f"The address {question.client} is refused, so the answer is 403.")
            break
        steps.append(f"The address {question.client} may pass.")
    return denied, steps


def _lists(rule: SourceRanges) -> list[str]:
    steps = []
    if rule.denied:
        steps.append(f"Source ranges: these are refused: {_named(rule.denied)}.")
    if rule.allowed:
        steps.append(f"Source ranges: only these may pass: {_named(rule.allowed)}.")
    return steps


def _named(networks: tuple[str, ...]) -> str:
    more = f" and {len(networks) - _NAMED_MOST} more" if len(networks) > _NAMED_MOST else ""
    return ", ".join(networks[:_NAMED_MOST]) + more


def _never(_: object) -> None:
    raise AssertionError("source ranges never wait")
