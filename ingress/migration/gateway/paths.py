"""From paths of Ingresses to matches of HTTPRoutes and GRPCRoutes, with what a rewrite becomes.

In ingress-nginx one Ingress with use-regex or rewrite-target makes every path of its host an expression. Such a host is
written with prefixes where all of its expressions are prefixes in disguise, else with expressions. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from enum import Enum
from typing import Final

import msgspec

from ingress.migration.moving import RawObject
from ingress.translation.ingress.path_expressions import OtherMeaning, expression_of

_PLAIN: Final = re.compile(r"/[A-Za-z0-9/._~%-]*")
# A beginning, and what people write behind it for "and everything below": /api(/|$)(.*), /api/(.*), /api/?(.*), /api/.*
_BELOW: Final = re.compile(r"(?P<stem>/?[A-Za-z0-9/_~%-]*?)(?P<rest>\(/\|\$\)\(\.\*\)|/?\??\(\.\*\)|/?\.\*)\$?")
_ANY: Final = "(?s:.*)"
_CAPTURE: Final = re.compile(r"\$([1-9])")
# What URLRewrite can say: a path with captures by number. nginx takes URLs, queries and variables as well.
_REWRITTEN: Final = re.compile(r"(?:/[^?#$\s]*)?(?:\$[1-9][^?#$\s]*)*")
_METHOD: Final = re.compile(r"/(?P<service>[A-Za-z_][\w.]*)(?:/(?P<method>[A-Za-z_]\w*))?/?")


class HostPaths(Enum):
    """What the paths of a host are."""

    PLAIN = 0
    PREFIXES = 1
    """Expressions, each of which means a prefix."""
    EXPRESSIONS = 2


class PathText(msgspec.Struct, frozen=True):
    """A path of an Ingress: its text and type, and the rewrite-target of its Ingress, empty for none."""

    text: str
    kind: str
    rewrite: str = ""


class PathForm(msgspec.Struct, frozen=True):
    """The match of a path, and the path of URLRewrite; None: the path stays."""

    match: RawObject
    rewrite: RawObject | None = None


class NoForm(ValueError):
    """A path has no form. The text is a sentence that says what to do."""


def paths_of_host(paths: Iterable[PathText], *, has_expressions: bool) -> HostPaths:
    """How the paths of a host, of all its Ingresses, are written. `has_expressions`: the host is in regex mode."""
    if not has_expressions:
        return HostPaths.PLAIN
    known = [_prefix(each) for each in paths]
    stems = [form.match["value"] for form in known if form is not None]
    # Two paths that become one prefix would be one rule too many.
    return HostPaths.PREFIXES if len(set(stems)) == len(known) else HostPaths.EXPRESSIONS


def path_form(path: PathText, paths: HostPaths) -> PathForm:
    """The form of a path. Raises `NoForm`."""
    if not _REWRITTEN.fullmatch(path.rewrite):
        is_url = path.rewrite.startswith(("http://", "https://"))
        instead = "write a filter RequestRedirect" if is_url else "leave the path to an Ingress"
        raise NoForm(f"rewrite-target {path.rewrite} has no form: {instead}")
    if paths is HostPaths.PLAIN:
        kind = "Exact" if path.kind == "Exact" else "PathPrefix"
        return PathForm({"type": kind, "value": path.text or "/"})
    if paths is HostPaths.PREFIXES and (found := _prefix(path)) is not None:
        return found
    if _CAPTURE.search(path.rewrite):
        raise NoForm(f"rewrite-target {path.rewrite} has no form beside the other expressions of the host")
    try:
        expression = f"(?i){found_in(expression_of(path.text))}"
    except OtherMeaning as problem:
        raise NoForm(f"the path {path.text} has no form: {problem}") from None
    return PathForm({"type": "RegularExpression", "value": expression}, _whole(path.rewrite))


def found_in(expression: str) -> str:
    """The expression that matches all of a text in which `expression` is found: nginx searches, and routes do not."""
    if "|" in expression:
        return f"{_ANY}(?:{expression}){_ANY}"
    before = "" if expression.startswith("^") else _ANY
    after = "" if expression.endswith("$") and not expression.endswith("\\$") else _ANY
    return f"{before}{expression}{after}"


def method_form(path: PathText) -> RawObject | None:
    """The match of a path of calls, as a method; None for the path / (every call). Raises `NoForm`."""
    if path.text in {"", "/"}:
        return None
    found = _METHOD.fullmatch(path.text)
    if found is None or path.rewrite:
        raise NoForm(f"the path {path.text} is no method of gRPC, so no GRPCRoute can have it")
    method = {"service": found["service"], **({"method": found["method"]} if found["method"] else {})}
    return {"method": method}


def _prefix(path: PathText) -> PathForm | None:
    """The prefix that an expression stands for, with its rewrite; None if it stands for none."""
    if _PLAIN.fullmatch(path.text):
        if _CAPTURE.search(path.rewrite):
            return None
        return PathForm({"type": "PathPrefix", "value": path.text.rstrip("/") or "/"}, _whole(path.rewrite))
    found = _BELOW.fullmatch(path.text)
    if found is None:
        return None
    stem = found["stem"].rstrip("/") or "/"
    match = {"type": "PathPrefix", "value": stem}
    captures = _CAPTURE.findall(path.rewrite)
    if not captures:
        return PathForm(match, _whole(path.rewrite))
    last = str(found["rest"].count("("))
    if captures != [last] or not path.rewrite.endswith(f"${last}"):
        return None
    stays = path.rewrite.removesuffix(f"${last}").rstrip("/") or "/"
    return PathForm(match, {"type": "ReplacePrefixMatch", "replacePrefixMatch": stays})


def _whole(rewrite: str) -> RawObject | None:
    return {"type": "ReplaceFullPath", "replaceFullPath": rewrite} if rewrite else None
