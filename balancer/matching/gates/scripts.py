"""Does the steps of a script for each request: sets variables, tests conditions, answers or redirects. No I/O.

Source: nginx ngx_http_rewrite_module.c, ngx_http_script.c. Expressions are RE2's, which search in linear time; a path
that would take too long is refused.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable

from balancer.errors import ErrorKind, Refusal
from balancer.matching.gates.answer_types import media_type_of
from balancer.matching.gates.leading import TURNS_MOST, LedHead, is_led
from balancer.matching.gates.script_texts import ScriptRun, ScriptText, compile_script_text, has_variables, safe_value
from balancer.matching.gates.verdicts import PASSED, Asked, Deny, ForeseenGate, Go, NewPath, Reply, Resume
from balancer.matching.ordered_edits import Clock, EditPlan, OrderedEditor
from balancer.matching.regexes import Pattern, compile_capturing
from balancer.matching.urls import own_url
from balancer.model.redirects import UrlForm
from balancer.model.scripts import (
    AnswerWith,
    Comparing,
    Conditional,
    Criterion,
    HostScript,
    OrderedEdits,
    PlainStep,
    RedirectFound,
    RewritePath,
    Script,
    SetVariable,
    Step,
)

REDIRECTS = frozenset((301, 302, 303, 307, 308))
"""The statuses with which a text is a URL."""

_NOT_IN_URLS = re.compile(rb"[^\x21-\x7e]")
# nginx ngx_escape_uri, NGX_ESCAPE_ARGS: what captures become in a redirect if the client encoded anything.
_NOT_IN_CAPTURES = re.compile(rb'[\x00-\x20\x7f-\xff"#%&+;<>?\\^`{|}]')

_Do = Callable[[ScriptRun], Reply | NewPath | None]
_Met = Callable[[ScriptRun], bool]


class ScriptGate(ForeseenGate):
    """The gate of one script. `HostScript` changes nothing of a request that it does not answer."""

    __slots__ = ("_fields", "_host", "_now", "_plan", "_removed", "_steps", "_tools", "_underscores")

    def __init__(self, script: Script | HostScript, now: Clock | None = None) -> None:
        names = variables_of(script.steps)
        self._now = now
        self._tools = _Tools(names, script.form, now)
        self._plan = self._tools.planned(script.edits)
        self._host = isinstance(script, HostScript)
        self._underscores = script.underscores
        fields = script.request_fields if isinstance(script, Script) else ()
        self._fields = tuple((name.encode("ascii"), compile_script_text(text, names)) for name, text in fields)
        self._removed = frozenset(name.lower() for name, _ in self._fields)
        self._steps = tuple(map(self._compiled, script.steps))

    def judge(self, asked: Asked, resume: Resume) -> Go | Deny | Reply | NewPath:
        """The verdict, always at once."""
        if self._host and is_led(asked.request):
            return PASSED
        run, plan = ScriptRun(asked, self._underscores, self._now), self._plan
        try:
            for met, steps, chosen in self._steps:
                if met is not None and not met(run):
                    continue
                plan = chosen or plan
                for step in steps:
                    if (reply := step(run)) is not None:
                        return self._ended(reply, plan, run)
            if self._host:
                return PASSED
            added = tuple((name, value) for name, text in self._fields if (value := run.bounded(safe_value(text(run)))))
            editors = plan.editors(run)
        except Refusal as refusal:
            return Deny(refusal.kind)
        return Go(added, self._removed, always=editors) if editors or self._removed else PASSED

    def _ended(self, verdict: Reply | NewPath, plan: _ValuedPlan, run: ScriptRun) -> Reply | NewPath:
        """What a step says that ends the script. Changes of the path by the whole host are not counted, as in nginx."""
        if isinstance(verdict, Reply):
            return verdict._replace(editors=plan.editors(run), is_of_host=self._host)
        return verdict._replace(turns=0) if self._host else verdict

    def _compiled(self, step: Step) -> tuple[_Met | None, tuple[_Do, ...], _ValuedPlan | None]:
        tools = self._tools
        if not isinstance(step, Conditional):
            return None, (tools.step(step, 0),), None
        met, groups = tools.test(step.test)
        steps = tuple(tools.step(each, groups) for each in step.steps)
        return met, steps, None if step.edits is None else tools.planned(step.edits)


def variables_of(steps: Iterable[Step]) -> frozenset[str]:
    """The names of the variables that `steps` set."""
    plain = [each for step in steps for each in (step.steps if isinstance(step, Conditional) else (step,))]
    return frozenset(each.name for each in plain if isinstance(each, SetVariable))


class _ValuedPlan:
    """A plan with the texts of its values."""

    __slots__ = ("_fixed", "_now", "_plan", "_texts")

    def __init__(self, edits: OrderedEdits, names: Collection[str], now: Clock | None) -> None:
        plan = EditPlan(edits)
        self._plan = plan
        self._now = now
        self._texts = tuple(compile_script_text(text, names) for text in plan.texts)
        is_fixed = not any(map(has_variables, plan.texts))
        self._fixed = OrderedEditor(plan, [text.encode() for text in plan.texts], now) if is_fixed else None

    def editors(self, run: ScriptRun) -> tuple[OrderedEditor, ...]:
        if self._plan.changes_nothing:
            return ()
        if self._fixed is not None:
            return (self._fixed,)
        return (
            OrderedEditor(self._plan, [run.bounded(safe_value(text(run)).strip()) for text in self._texts], self._now),
        )


class _Tools:
    """Compiles what a script consists of, once at the swap."""

    __slots__ = ("_form", "_names", "_now")

    def __init__(self, names: frozenset[str], form: UrlForm, now: Clock | None) -> None:
        self._names = names
        self._form = form
        self._now = now

    def planned(self, edits: OrderedEdits) -> _ValuedPlan:
        return _ValuedPlan(edits, self._names, self._now)

    def test(self, test: Criterion) -> tuple[_Met, int]:
        """The test, and how many groups its expression captures."""
        text, kind = compile_script_text(test.text, self._names), test.comparison
        match kind:
            case Comparing.HOLDS:
                return (lambda run: text(run) not in {b"", b"0"}), 0
            case Comparing.EQUAL | Comparing.UNEQUAL:
                value, wanted = compile_script_text(test.value, self._names), kind is Comparing.EQUAL
                return (lambda run: (text(run) == value(run)) is wanted), 0
        ignores_case = kind in {Comparing.FOUND_CASELESS, Comparing.NOT_FOUND_CASELESS}
        pattern = compile_capturing(test.value, ignores_case=ignores_case)
        if kind in {Comparing.NOT_FOUND, Comparing.NOT_FOUND_CASELESS}:
            return (lambda run: _search(pattern, text(run), run) is False), 0
        return (lambda run: _search(pattern, text(run), run)), pattern.groups

    def step(self, step: PlainStep, groups: int) -> _Do:
        match step:
            case SetVariable():
                return _assignment(step.name, compile_script_text(step.text, self._names, groups))
            case AnswerWith():
                text = None if step.text is None else compile_script_text(step.text, self._names, groups)
                return self._answer(step.status, text)
            case RedirectFound():
                return self._redirect(step)
            case RewritePath():
                return self._rewriting(step)

    def _answer(self, status: int, text: ScriptText | None) -> _Do:
        if text is None:
            return lambda run: _empty(status, run)
        if status in REDIRECTS:
            return lambda run: self._leading(status, text(run), run)
        return lambda run: Reply(
            status, ((b"Content-Type", media_type_of(run.asked.request.path)),), run.bounded(text(run))
        )

    def _redirect(self, step: RedirectFound) -> _Do:
        pattern = compile_capturing(step.expression)
        text = compile_script_text(step.text, self._names, pattern.groups)
        mark = b"&" if "?" in step.text else b"?"

        def do(run: ScriptRun) -> Reply | None:
            request = run.asked.request
            if not _search(pattern, request.path, run):
                return None
            path, _, query = request.target.partition(b"?")
            captures = run.captures
            if b"%" in path or b"+" in path:
                run.captures = tuple(_encoded(each) for each in captures)
            url = text(run) + (mark + query if step.keeps_query and query else b"")
            return self._leading(step.status, url, run)

        return do

    def _rewriting(self, step: RewritePath) -> _Do:
        pattern = compile_capturing(step.expression)
        text = compile_script_text(step.text, self._names, pattern.groups)

        def do(run: ScriptRun) -> Reply | NewPath | None:
            request = run.asked.request
            if not _search(pattern, request.path, run):
                return None
            turns = request.turns + 1 if isinstance(request, LedHead) else 1
            return Reply(500) if turns > TURNS_MOST else NewPath(run.bounded(text(run)), turns)

        return do

    def _leading(self, status: int, url: bytes, run: ScriptRun) -> Reply:
        url = _NOT_IN_URLS.sub(lambda match: b"%%%02X" % match[0][0], url)
        if url.startswith(b"/"):
            url = own_url(self._form, run.asked.request, run.asked.origin, url)
        return Reply(status, ((b"Location", url),))


def _assignment(name: str, text: ScriptText) -> _Do:
    def do(run: ScriptRun) -> None:
        run.variables[name] = run.bounded(text(run))

    return do


def _empty(status: int, run: ScriptRun) -> Reply:
    """The answer without a text: nginx has a page for errors only."""
    if status >= 400:
        return Reply(status)
    return Reply(status, ((b"Content-Type", media_type_of(run.asked.request.path)),) if status != 204 else (), b"")


def _search(pattern: Pattern, text: bytes, run: ScriptRun) -> bool:
    """Whether the pattern is found. What its groups capture is kept. Raises `Refusal` where searches would be long."""
    if not run.searches.afford(pattern, len(text)):
        raise Refusal(ErrorKind.TARGET_TOO_LONG, "a text that is too long to be searched")
    found = pattern.captures(text)
    if found is not None:
        run.captures = found
    return found is not None


def _encoded(capture: bytes) -> bytes:
    return _NOT_IN_CAPTURES.sub(lambda match: b"%%%02X" % match[0][0], capture)
