"""Writes a path of ingress-nginx as an expression in RE2's syntax that means the same.

ingress-nginx puts the path behind `^` between quotation marks into the configuration of nginx, and nginx searches it
with PCRE over single bytes, ignoring the case of ASCII letters. What RE2 would take for something else is refused. Does
not know which paths are expressions.
"""

from __future__ import annotations

import re

from balancer.matching.regexes import INSTRUCTIONS_MAX
from balancer.model.routes import PathKind
from ingress.translation.beginnings import beginning

# Paths that mean the same in both syntaxes at first sight. Most paths of a host with expressions are of this kind.
_PLAIN = re.compile(r"[A-Za-z0-9/._~-]*")
# nginx ngx_conf_read_token: between quotation marks a backslash quotes itself and quotation marks.
_QUOTED = re.compile(r"\\([\\\"'])")
_TOKEN = re.compile(
    r"(?P<escape>\\(?:x[0-9a-fA-F{]?|.)?)|(?P<members>\[\^?\]?(?:\\.|\[:\^?[a-z]+:\]|[^\]\\])*+\])|(?P<open>\[)"
    r"|(?P<counts>\{[0-9, \t]*\})|(?P<other>[^\x00-\x7f])",
    re.DOTALL,
)
# A back reference; more kinds of vertical space than one; Unicode; a byte above 127, in which RE2 ignores the case of
# Latin letters; quoted text.
_OTHER_MEANING = re.compile(r"\\(?:[1-9vpPXQ]|x(?![0-7])|[^\x00-\x7f])")
_COUNT = re.compile(r"\{([0-9]+)(?:,([0-9]*))?\}")
_COUNTS = re.compile(r"\{[0-9]+(?:,[0-9]*)?\}|\{[ \t,]*\}")


class OtherMeaning(ValueError):
    """A part of the path has no meaning, or means something else in RE2; the message names the part."""


def expression_of(path: str) -> str:
    """The expression for which a request path is searched, in ASCII. RE2 may still refuse it. Raises `OtherMeaning`."""
    if _PLAIN.fullmatch(path):
        return "^" + path
    # RE2 writes counted repetitions out, and takes milliseconds to find that there are too many.
    if sum(int(most or least) for least, most in _COUNT.findall(path)) > INSTRUCTIONS_MAX:
        raise OtherMeaning("there are too many counted repetitions")
    return "^" + _TOKEN.sub(_translated, _QUOTED.sub(r"\1", path))


def closing_expression(path: str) -> str:
    """An expression for the text with which every request path begins that `path` matches as an expression."""
    return "^" + "".join(_literal(char) for char in beginning(_QUOTED.sub(r"\1", path)))


def literal_expression(path: str, kind: PathKind, *, has_shorter: bool) -> str:
    """An expression that matches what an exact or prefix `path` matches in Kubernetes, in this case of letters alone.

    `has_shorter`: the prefix ends in a slash, and the path without it is another prefix.
    """
    if kind is PathKind.EXACT:
        return f"^{_as_written(path)}$"
    if has_shorter:
        return f"^{_as_written(path)}"
    return f"^{_as_written(path.rstrip('/'))}(?:/|$)"


def _as_written(text: str) -> str:
    """`text` as bytes, in its case of letters."""
    written = (
        re.escape(char) if char.isascii() else "".join(f"\\x{byte:02X}" for byte in char.encode()) for char in text
    )
    return f"(?-i:{''.join(written)})"


def _translated(found: re.Match[str]) -> str:
    text = found[0]
    if found["other"]:
        return _literal(text)
    if found["open"]:
        raise OtherMeaning("a character class has no end")
    if _OTHER_MEANING.search(text) or not text.isascii() or (found["counts"] and not _COUNTS.fullmatch(text)):
        raise OtherMeaning(f"{text} means something else to RE2")
    return text


def _literal(char: str) -> str:
    """A character as bytes, of which only ASCII letters may come in another case."""
    if char.isascii():
        return re.escape(char)
    return "".join(f"(?-i:\\x{byte:02X})" for byte in char.encode())
