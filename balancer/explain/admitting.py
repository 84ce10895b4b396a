"""What the gates of a route say of a request, in sentences. No I/O."""

from __future__ import annotations

from typing import NamedTuple

from balancer.errors import ErrorKind
from balancer.explain.asking import Question
from balancer.explain.hook_runs import run_hooks
from balancer.http.origin import Origin
from balancer.matching.forwarded import ForwardedReader
from balancer.matching.gates.verdicts import Asked, Deny, Go, NewPath, Reply, Waiting
from balancer.matching.served import Served
from zonal_hooks.messages import NO_CHOICE, Choice


class Admission(NamedTuple):
    """What the gates of a route say of a request.

    `answer` is None if the request goes on. `redirect` is the redirect of a plain request to https, or None: `answer`
    and `steps`, a sentence for each, are about the request to that URL then. With `NewPath` it is matched anew.
    `choice` is what hooks chose that were run.
    """

    answer: Deny | Reply | NewPath | None
    redirect: Reply | None
    steps: list[str]
    choice: Choice = NO_CHOICE


def origin_of(question: Question, forwarded: ForwardedReader | None) -> Origin:
    """The origin of the request, as a trusted proxy says if the client of the question is one."""
    origin = Origin(peer=question.client, entry_point=question.entry_point)
    return origin if forwarded is None else forwarded.origin_of(origin, question.request)


def origin_steps(question: Question, origin: Origin) -> list[str]:
    """One sentence if the client is another one than the question says."""
    if origin.peer == question.client:
        return []
    return [f"{question.client} is a trusted proxy. It says that the client is {origin.peer}."]


def gate_steps(
    served: Served, question: Question, captures: tuple[bytes, ...] = (), origin: Origin | None = None
) -> Admission:
    """Asks the gates of a route in their order, until one answers. `captures` are those of the match.

    `origin` None: that of the question. Without the address of the client nothing is known about source ranges, and the
    request is taken to go on. So it is at a gate that cannot be asked without effects.
    """
    origin = origin or origin_of(question, None)
    asked = Asked(question.request, origin, question.secure, captures)
    steps: list[str] = []
    redirect: Reply | None = None
    for gate in served.secure_gates if origin.https else served.plain_gates:
        about = gate.describe()
        steps += about.facts
        if about.asks_address and not question.client:
            steps.append("Whether the client may pass depends on its address, which was not given.")
            continue
        if not about.is_foreseen:
            continue
        verdict = gate.judge(asked, _never)
        if about.leads_on:
            redirect = verdict if isinstance(verdict, Reply) else None
        elif isinstance(verdict, NewPath):
            path = verdict.path.decode(errors="backslashreplace")
            steps.append(f"A snippet changes the path to {path}, and the request is matched anew.")
            return Admission(verdict, redirect, steps)
        elif isinstance(verdict, Deny | Reply):
            return Admission(verdict, redirect, [*steps, _told(verdict, question)])
        if about.asks_address:
            steps.append(f"The address {question.client} may pass.")
    if served.hooks is None:
        return Admission(None, redirect, steps)
    runs = run_hooks(served.hooks.gates, asked, served.route.owner.full_name)
    told = [] if runs.answer is None else [_told(runs.answer, question)]
    return Admission(runs.answer, redirect, [*steps, *runs.steps, *told], runs.choice)


def location_of(answer: Go | Deny | Reply | NewPath | Waiting) -> str | None:
    """The URL to which an answer redirects, or None."""
    fields = answer.fields if isinstance(answer, Reply) else ()
    found = next((value for name, value in fields if name == b"Location"), None)
    return found.decode(errors="backslashreplace") if found is not None else None


def redirect_steps(redirect: Reply | None) -> list[str]:
    """One sentence about the redirect of plain HTTP to https; none if there is no redirect."""
    if redirect is None:
        return []
    leads = f"with {redirect.status} to {location_of(redirect)}"
    return [f"Plain HTTP is answered {leads}. The next steps describe the request to that URL."]


def _told(answer: Deny | Reply, question: Question) -> str:
    """A sentence about the gate that answers."""
    if isinstance(answer, Deny):
        if answer.kind is ErrorKind.CLIENT_BLOCKED:
            return "The ConfigMap blocks this User-Agent or Referer, so the answer is 403."
        if answer.kind is ErrorKind.BAD_REQUEST:
            return "The request names no host to be redirected to, so the answer is 400."
        if answer.kind is ErrorKind.HOOK_FAILED:
            return "A hook that fails refuses the request, so the answer is 503."
        return f"The address {question.client} is refused, so the answer is 403."
    location = location_of(answer)
    return f"The answer is {answer.status}" + (f" to {location}." if location is not None else ".")


def _never(_: object) -> None:
    raise AssertionError("a gate that is foreseen never waits")
