"""Which target the endpoint of a request would get, in sentences. No I/O."""

from __future__ import annotations

from typing import NamedTuple

from balancer.explain.asking import Question
from balancer.matching.rewriting import AmbiguousTarget
from balancer.matching.routing import Match


class RewrittenTarget(NamedTuple):
    """The target that the endpoint gets, None if it is that of the client. `refused`: the request is answered 400."""

    target: str | None
    refused: bool
    steps: list[str]


def rewritten_target(match: Match, question: Question) -> RewrittenTarget:
    """Asks the rewriting of the matched route, and says what the groups of its expression captured."""
    rewriter, rule = match.served.rewriting, match.served.route.rewriting
    if rewriter is None or rule is None:
        return RewrittenTarget(None, False, [])
    groups = [f'${number} is "{_text(value)}"' for number, value in enumerate(match.captures, 1)]
    captured = f" ({', '.join(groups)})" if groups else ""
    try:
        request = rewriter.rewritten(question.request, question.client, match.captures)
    except AmbiguousTarget:
        step = f"The path rewritten to {rule.target}{captured} would hold dot segments, so the answer is 400."
        return RewrittenTarget(None, True, [step])
    if request is None:
        return RewrittenTarget(None, False, [f"The path is not rewritten to {rule.target} here."])
    target = _text(request.target)
    steps = [f"The path is rewritten to {rule.target}{captured}: the endpoint gets the target {target}."]
    steps += (f"The endpoint gets {_text(name)}: {_text(value)}." for name, value in rewriter.added)
    return RewrittenTarget(target, False, steps)


def _text(value: bytes) -> str:
    return value.decode(errors="backslashreplace")
