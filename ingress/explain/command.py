"""Runs `zonal explain`: asks a manifest folder or a running ingress where a request goes, and prints the answer.

`balancer.explain.explaining` makes the explanation, as on the admin port. Does not know flags.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Sequence
from http.client import HTTPException
from pathlib import Path
from urllib.error import HTTPError
from urllib.parse import urlencode
from urllib.request import ProxyHandler, build_opener

import msgspec

from balancer.explain.asking import BadQuestion, RefusedRequest, question_of
from balancer.explain.drafts import complete
from balancer.explain.explaining import explain, refused
from balancer.explain.explanations import EndpointFacts, Explanation
from balancer.http1.heads import RequestHeadReader
from balancer.live import LiveTable
from balancer.matching.gates.making import make_gate
from balancer.model.publication import Publication
from ingress.explain.evidence import Evidence
from ingress.explain.hook_runs import hooks_in, running_gates
from ingress.findings import printable
from ingress.following.hook_files import HooksUnusable
from ingress.settings.context import TranslationContext
from ingress.sources.dumps import read_dump
from ingress.sources.folder import FolderUnreadable
from ingress.sources.inventory import Inventory
from ingress.translation.assembly import translate
from zonal_hooks.loading import NotAHook

_ANSWER_SECONDS = 10.0  # a busy process of a large cluster may take a second
_STEP_LIMIT = 8000  # characters; more than fifty endpoints on one line


class CannotExplain(Exception):
    """No ingress can be asked, or the question is invalid. The text is one line that says what to change."""


class ExplainOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The question and whom to ask: `admin`, the URL of an admin port, or else the folder `source`.

    `context` counts only for a folder. `client` is the client's address. `verbose` lists every endpoint.
    `expect_status` is the status with which zonal itself answers, or `endpoint` if an endpoint is expected to answer.
    `expect_service` is `namespace/name`. `hooks` are files and folders of hooks, which are run; only for a folder.
    """

    url: str
    fields: tuple[str, ...] = ()
    client: str = ""
    source: Path | None = None
    admin: str | None = None
    context: TranslationContext = TranslationContext()
    as_json: bool = False
    verbose: bool = False
    expect_status: str | None = None
    expect_zone: str | None = None
    expect_service: str | None = None
    hooks: tuple[Path, ...] = ()


def run_explain(options: ExplainOptions) -> int:
    """Prints the explanation. Returns the exit status: 1 if an expectation failed. Raises `CannotExplain`."""
    found = _explanation(options)
    print(_as_json(found) if options.as_json else _as_text(found, options.url, verbose=options.verbose))
    problems = unmet(found, options)
    for problem in problems:
        print(f"zonal: {printable(problem, limit=_STEP_LIMIT)}", file=sys.stderr)
    return 1 if problems else 0


def unmet(found: Explanation, options: ExplainOptions) -> list[str]:
    """One line for each expectation that the explanation does not meet."""
    problems = []
    if options.expect_status is not None and options.expect_status != _status(found):
        problems.append(f"expected status {options.expect_status}, but {_answerer(found)}")
    if options.expect_zone is not None and found.to_zone != options.expect_zone:
        zones = sorted({candidate.zone or "unknown" for candidate in found.pool})
        problems.append(f"expected zone {options.expect_zone}, but requests go to {', '.join(zones) or 'no endpoint'}")
    if options.expect_service is not None and found.service != options.expect_service:
        problems.append(f"expected Service {options.expect_service}, but it is {found.service or 'none'}")
    return problems


def explain_folder(options: ExplainOptions, folder: Path) -> Explanation:
    """What an ingress that serves a `folder` or dump would do. Raises `BadQuestion`, `FolderUnreadable`, and for hooks
    `HooksUnusable` and `NotAHook`.
    """
    inventory = Inventory()
    for event in read_dump(folder).events:
        inventory.apply(event)
    hooks = hooks_in(options.hooks) if options.hooks else ()
    context = msgspec.structs.replace(options.context, hooks=hooks)
    translation = translate(inventory, context, now_epoch_seconds=time.time())
    live = LiveTable(lambda below: 0, running_gates(hooks) if hooks else make_gate)
    live.swap(Publication(generation=1, model=translation.model))
    read = RequestHeadReader(translation.model.proxy).read
    try:
        question = question_of(options.url, options.fields, read=read, client=options.client)
        draft = explain(question, live.view, now=0.0, live=False)
    except RefusedRequest as request:
        draft = refused(request, translation.model.own_zone)
    return complete(draft, Evidence(inventory, context, findings=translation.findings))


def explain_live(options: ExplainOptions, admin: str) -> Explanation:
    """What the ingress behind an admin port does now. Raises `CannotExplain`."""
    query = [("url", options.url), ("client", options.client), *(("header", field) for field in options.fields)]
    url = f"{admin.rstrip('/')}/debug/explain?{urlencode(query)}"
    if not admin.startswith(("http://", "https://")):
        raise CannotExplain("--admin takes the URL of an admin port, such as http://127.0.0.1:10254")
    opener = build_opener(ProxyHandler({}))  # a proxy would ask from its own host
    try:
        with opener.open(url, timeout=_ANSWER_SECONDS) as answer:
            return msgspec.json.decode(answer.read(), type=Explanation)
    except HTTPError as error:
        raise CannotExplain(_refusal(error)) from None
    except (OSError, ValueError, HTTPException) as error:
        reason = getattr(error, "reason", error)
        raise CannotExplain(f"--admin {admin}: {getattr(reason, 'strerror', None) or reason}") from None


def _explanation(options: ExplainOptions) -> Explanation:
    if options.admin is not None:
        return explain_live(options, options.admin)
    if options.source is None:
        raise CannotExplain("whom to ask: give --source DIR, a folder of manifests, or --admin URL, a serving ingress")
    try:
        return explain_folder(options, options.source)
    except (BadQuestion, FolderUnreadable, HooksUnusable, NotAHook) as error:
        raise CannotExplain(str(error)) from None


def _refusal(error: HTTPError) -> str:
    with error:
        body = error.read(_STEP_LIMIT)
    try:
        return str(msgspec.json.decode(body, type=dict[str, str])["error"])
    except (msgspec.DecodeError, KeyError):
        text = body.decode(errors="replace").strip()
        return f"the admin port answers {error.code}: {printable(text, limit=200)}"


def _as_json(found: Explanation) -> str:
    # In ASCII, because a terminal may obey some of the characters that JSON allows.
    return json.dumps(msgspec.to_builtins(found), indent=2)


def _as_text(found: Explanation, url: str, *, verbose: bool) -> str:
    """A headline, the steps, every endpoint if `verbose`, and the pool."""
    lines = [_headline(found, url), ""]
    lines += [f"{number:3}. {step}" for number, step in enumerate(found.steps, start=1)]
    if verbose and found.endpoints:
        lines += ["", *_table(found.endpoints)]
    if found.pool:
        lines += ["", *(f"{each.probability:7.2%}  {each.endpoint}  {each.zone or 'unknown'}" for each in found.pool)]
    return "\n".join(printable(line, limit=_STEP_LIMIT) for line in lines)


def _table(endpoints: Sequence[EndpointFacts]) -> list[str]:
    rows = [("endpoint", "zone", "node", "pod", "state")]
    rows += [
        (each.endpoint, each.zone or "unknown", each.node or "-", each.pod or "-", each.state) for each in endpoints
    ]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]


def _headline(found: Explanation, url: str) -> str:
    parts = [] if found.status is None else [_answer(found)]
    if found.service is not None or found.status is None:
        then = "then " if found.location is not None else ""
        parts.append(then + (found.service or "no Service"))
    if found.mode is not None:
        parts += [f"policy {found.policy}", f"mode {found.mode}", f"reason {_reasons(found)}"]
    if found.pool:
        zones = sorted({each.zone or "unknown" for each in found.pool})
        parts.append(f"{'zone' if len(zones) == 1 else 'zones'} {', '.join(zones)}")
    if isinstance(found.dry_run, str):
        parts.append(found.dry_run)
    return f"{url} -> {', '.join(parts)}"


def _reasons(found: Explanation) -> str:
    """The reason; where requests have several, such as in a rollout, each with its share."""
    if isinstance(found.shares, tuple):
        return " and ".join(f"{each.reason or 'none'} ({each.probability:.0%})" for each in found.shares)
    return found.reason or "none"


def _answer(found: Explanation) -> str:
    return f"{found.status} to {found.location}" if found.location is not None else f"{found.status} {found.error}"


def _status(found: Explanation) -> str:
    """The status as `--expect-status` expects it."""
    return str(found.status) if found.status is not None else "endpoint"


def _answerer(found: Explanation) -> str:
    if found.status is not None:
        return f"the answer is {_answer(found)}"
    return "an endpoint answers, with a status that only a request can tell (--expect-status endpoint)"
