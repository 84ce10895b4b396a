"""Options about the access log: which requests have a line, and what it says.

Source: ingress-nginx v1.15.1, ConfigMap keys disable-access-log, log-format-upstream and their kin, and the annotation
enable-access-log. It must not know how a line is made.
"""

from __future__ import annotations

import re

import msgspec

from balancer.logs.lineformats import VARIABLES_MOST, variables_in
from balancer.matching.logged import compile_skipped
from balancer.matching.regexes import PatternError
from balancer.model.policies import RoutePolicy
from balancer.model.settings import LogEscape, LogRules
from ingress.findings import Severity
from ingress.settings.table.option import Option, Overrides, cluster_option, cluster_switch, ingress_switch
from ingress.settings.unsupported import Loss
from ingress.settings.values import InvalidValue

_LINE_BREAKS = re.compile(r"[ \t]*[\r\n]+[ \t]*")
_PRINTABLE = re.compile(r"[^\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]*")
_CHARACTERS_MOST = 8192
_SKIPPED_MOST = 100  # every line is compared with each expression
_NOT_READ = Loss(Severity.COSMETIC, "requests are logged as if the option were not there")


class LogSettings(msgspec.Struct, frozen=True):
    """What the ConfigMap says about the access log, with a field for each key."""

    disabled: bool = False
    http_disabled: bool = False
    streams_disabled: bool = False
    default_backend: bool = True
    format: str = ""
    escape_json: bool = False
    escape_none: bool = False
    skipped: tuple[str, ...] = ()


def log_rules(overrides: Overrides) -> LogRules:
    """The rules of the access log; `overrides` are those of the ConfigMap. JSON outweighs none, as in ingress-nginx."""
    said = overrides.over(LogSettings())
    escape = LogEscape.NONE if said.escape_none else LogEscape.DEFAULT
    return LogRules(
        enabled=not (said.disabled or said.http_disabled),
        format=said.format,
        escape=LogEscape.JSON if said.escape_json else escape,
        skipped=said.skipped,
        unrouted=said.default_backend,
        streams=not (said.disabled or said.streams_disabled),
    )


def line_text(text: str) -> str:
    """Text with variables for one line; line breaks become spaces."""
    line = _LINE_BREAKS.sub(" ", text.strip())
    if len(line) > _CHARACTERS_MOST or variables_in(line) > VARIABLES_MOST or not _PRINTABLE.fullmatch(line):
        raise InvalidValue(f"use at most {_CHARACTERS_MOST} printable characters and {VARIABLES_MOST} variables")
    return line


def skipped_targets(text: str) -> tuple[str, ...]:
    """A comma list of targets, and of regular expressions behind `~` or `~*`."""
    items = tuple(dict.fromkeys(item.strip() for item in text.split(",") if item.strip()))
    if len(items) > _SKIPPED_MOST:
        raise InvalidValue(f"use at most {_SKIPPED_MOST} targets")
    for item in items:
        try:
            compile_skipped(item) if item.startswith("~") else None
        except PatternError as problem:
            raise InvalidValue(f"{item[:50]}: {problem}") from None
    return items


def _switch(name: str, field: str, default: str, doc: str) -> Option:
    return cluster_switch(
        name=name,
        fills=(LogSettings, field),
        default=default,
        doc=doc,
        if_invalid=_NOT_READ,
    )


ACCESS_LOG_OPTIONS = (
    _switch("disable-access-log", "disabled", "false", '`"true"`: the access log has no line'),
    _switch("disable-http-access-log", "http_disabled", "false", '`"true"`: no request has a line in the access log'),
    _switch("disable-stream-access-log", "streams_disabled", "false", '`"true"`: no stream of TCP or TLS has one'),
    _switch(
        "enable-access-log-for-default-backend",
        "default_backend",
        "true",
        '`"false"`: requests that no Ingress serves have no line. Unlike in ingress-nginx they have lines by default',
    ),
    cluster_option(
        name="log-format-upstream",
        fills=(LogSettings, "format"),
        grammar=line_text,
        doc="text with variables of nginx for each line, in place of the format that `--access-log` names"
        " ([the variables](access-log.md#log-format-upstream)). An unknown variable is a finding and has no value."
        " Empty: the format of `--access-log`",
        if_invalid=_NOT_READ,
    ),
    _switch(
        "log-format-escape-json",
        "escape_json",
        "false",
        '`"true"`: values in `log-format-upstream` are escaped for JSON strings, and a missing value is empty',
    ),
    _switch(
        "log-format-escape-none",
        "escape_none",
        "false",
        '`"true"`: values in `log-format-upstream` are written as they are, except for control characters',
    ),
    cluster_option(
        name="skip-access-log-urls",
        fills=(LogSettings, "skipped"),
        grammar=skipped_targets,
        doc="comma list of at most 100 targets (path and query) whose requests have no line; case does not count."
        " An entry that begins with `~` or `~*` is a regular expression, as in nginx's `map`",
        if_invalid=_NOT_READ,
    ),
    ingress_switch(
        name="enable-access-log",
        fills=(RoutePolicy, "logged"),
        doc='`"false"`: requests of the Ingress have no line in the access log',
        if_invalid=_NOT_READ,
    ),
)
