"""Finds the text with which every path begins that a regular expression matches, in the syntax of PCRE or RE2.

The answer is safe: the text may be too short, never too long. Does not know hosts or routes.
"""

from __future__ import annotations

import re

_SPECIAL = re.compile(r"[\\.^$*+?()\[\]{}|]")
_MAY_REPEAT_NEVER = frozenset("*?{")
# Quoted text, control characters, comments and callouts, in which parentheses and brackets mean nothing.
_UNREADABLE = re.compile(r"\\[Qc]|\(\?[#C]|\(\?[a-zA-Z^-]*x")
# A class in brackets: `]` is a member where it comes first, and so are escaped characters and named classes.
_CLASS = re.compile(r"\[\^?\]?(?:\\.|\[:\^?[a-z]+:\]|[^\]\\])*\]", re.DOTALL)
_NESTING = re.compile(r"[\\\[()|]")


def beginning(expression: str) -> str:
    """The text with which every match of `expression` begins, ignoring the case of ASCII letters; at least `/`.

    Its ASCII letters are in lower case. Other letters keep their case, because bytes are compared.
    """
    if not expression.startswith("/") or has_alternatives(expression):
        return "/"
    special = _SPECIAL.search(expression)
    end = special.start() if special else len(expression)
    if end < len(expression) and expression[end] in _MAY_REPEAT_NEVER:
        end -= 1  # the character before the operator may be absent
    return expression[:end].encode().lower().decode() or "/"


def has_alternatives(expression: str) -> bool:
    """Whether `|` may stand outside of groups and character classes."""
    if "|" not in expression:
        return False
    if _UNREADABLE.search(expression):
        return True
    depth, place = 0, 0
    while (next_one := _NESTING.search(expression, place)) is not None:
        place = next_one.start()
        char = expression[place]
        if char == "\\":
            place += 1
        elif char == "[":
            if (found := _CLASS.match(expression, place)) is None:
                return True
            place = found.end() - 1
        elif char in "()":
            depth += 1 if char == "(" else -1
        elif char == "|" and depth <= 0:
            return True
        place += 1
    return False
