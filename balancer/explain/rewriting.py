"""Which target the endpoint of a request would get, in sentences. No I/O."""

from __future__ import annotations

from typing import NamedTuple

from balancer.errors import ErrorKind, Refusal
from balancer.explain.asking import Question
from balancer.matching.gates.leading import LedHead
from balancer.matching.served import Match
from balancer.model.rewriting import Rewriting
from balancer.proxy.answers import ANSWERS


class RewrittenTarget(NamedTuple):
    """The target that the endpoint gets; None: that of the client. `refused` says why a request is not forwarded."""

    target: str | None
    refused: ErrorKind | None
    steps: list[str]


def rewritten_target(match: Match, question: Question) -> RewrittenTarget:
    """Asks the rewriting of the matched route, and says what the groups of its expression captured."""
    rewriter, rule = match.served.rewriting, match.served.route.rewriting
    if rewriter is None or rule is None:
        led = question.request if isinstance(question.request, LedHead) else None
        return RewrittenTarget(None if led is None else _text(led.onward), None, [])
    to = rule.target if isinstance(rule, Rewriting) else rule.path
    groups = [f'${number} is "{_text(value)}"' for number, value in enumerate(match.captures, 1)]
    captured = f" ({', '.join(groups)})" if groups else ""
    try:
        request = rewriter.rewritten(question.request, question.client, match.captures)
    except Refusal as refusal:
        status = ANSWERS[refusal.kind].status
        step = f"The path is not rewritten to {to}{captured}, because that is {refusal}: {status}."
        return RewrittenTarget(None, refusal.kind, [step])
    if request is None:
        return RewrittenTarget(None, None, [f"The path is not rewritten to {to} here."])
    target = _text(request.target)
    steps = [f"The path is rewritten to {to}{captured}: the endpoint gets the target {target}."]
    steps += (f"The endpoint gets {_text(name)}: {_text(value)}." for name, value in rewriter.added)
    return RewrittenTarget(target, None, steps)


def _text(value: bytes) -> str:
    return value.decode(errors="backslashreplace")
