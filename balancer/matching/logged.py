"""Decides which requests and streams have a line in the access log, and in which format. No I/O."""

from __future__ import annotations

from balancer.http.messages import RequestHead
from balancer.logs.accesslines import AccessLogFormat
from balancer.logs.lineformats import LineFormat, compile_format
from balancer.matching.regexes import Pattern, compile_caseless, compile_pattern
from balancer.model.routes import Owner
from balancer.model.settings import LogEscape, LogRules

_CASELESS, _EXPRESSION = "~*", "~"


class LoggedRequests:
    """The rules of one model, compiled."""

    __slots__ = ("_format", "_has_streams", "_is_on", "_patterns", "_targets", "_text_format", "_unrouted")

    def __init__(self, rules: LogRules) -> None:
        self._is_on = rules.enabled
        self._has_streams = rules.streams
        self._unrouted = rules.unrouted
        self._targets = frozenset(text.lower().encode() for text in rules.skipped if not text.startswith(_EXPRESSION))
        self._patterns = tuple(compile_skipped(text) for text in rules.skipped if text.startswith(_EXPRESSION))
        self._format = compile_format(rules.format, rules.escape) if rules.format else None
        is_escaped = rules.escape is not LogEscape.DEFAULT
        self._text_format = self._format or (compile_format("", rules.escape) if is_escaped else None)

    def takes(self, request: RequestHead | None, owner: Owner | None) -> bool:
        """Whether a request has a line. `request` is None if its head was refused, `owner` if no route matched."""
        if not self._is_on or (not self._unrouted and (owner is None or not owner.name)):
            return False
        if request is None or not (self._targets or self._patterns):
            return True
        target = request.raw_target
        return target.lower() not in self._targets and not any(pattern.search(target) for pattern in self._patterns)

    def takes_stream(self, owner: Owner | None) -> bool:
        """Whether a stream has a line. `owner` is None if no route took it."""
        return self._has_streams and (self._unrouted or owner is not None)

    def format_for(self, process: AccessLogFormat) -> LineFormat | None:
        """The format of lines in a process that was started with this format; None keeps that."""
        return self._text_format if process is AccessLogFormat.UPSTREAMINFO else self._format


def compile_skipped(text: str) -> Pattern:
    """The pattern behind `~` (case counts) or `~*`, as in nginx's map. Raises `PatternError`."""
    if text.startswith(_CASELESS):
        compile_pattern(text.removeprefix(_CASELESS))  # bounds its size
        return compile_caseless(text.removeprefix(_CASELESS))
    return compile_pattern(text.removeprefix(_EXPRESSION))


def logged_requests(rules: LogRules) -> LoggedRequests | None:
    """The compiled rules; None where every request has a line in the format of the process."""
    return None if rules == LogRules() else LoggedRequests(rules)
