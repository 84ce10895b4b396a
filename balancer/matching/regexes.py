"""Compiles regular expressions of tenants: RE2 searches them in time proportional to the text.

Limits what is accepted and how much one search may cost. Does not know what is searched. Python's `re` backtracks, so a
tenant's pattern could block an event loop for hours. ADR 14 says why RE2.
"""

from __future__ import annotations

from functools import lru_cache

import re2

# A search costs at most about one step per instruction and byte. A plain character is one instruction, and a counted
# repetition is written out. Patterns that people write have fewer than 100. With 256 the worst search takes about 5 ms
# per KiB.
INSTRUCTIONS_MAX = 256
# For each pattern: its program and the states that RE2 remembers. When this memory is full RE2 forgets states, and
# finally searches without them: slower, but still in linear time.
_MEMORY_BYTES = 256 * 1024


class PatternError(ValueError):
    """RE2 refuses the pattern, or the pattern is too large; the text says which."""


class Pattern:
    """A compiled pattern."""

    __slots__ = ("_search",)

    def __init__(self, text: str) -> None:
        try:
            compiled = re2.compile(text.encode("ascii"), _options())
        except UnicodeEncodeError:
            raise PatternError("only ASCII is supported") from None
        except re2.error as problem:
            raise PatternError(_said(problem)) from None
        if compiled.programsize > INSTRUCTIONS_MAX:
            raise PatternError("the pattern is too large")
        self._search = compiled.search

    def search(self, text: bytes) -> bool:
        """Whether the pattern matches anywhere in `text`."""
        return self._search(text) is not None


@lru_cache(maxsize=1024)  # every translation and every swap asks for the same patterns
def compile_pattern(text: str) -> Pattern:
    """The pattern in `text`, in RE2's syntax (https://github.com/google/re2/wiki/Syntax), over single bytes.

    Raises `PatternError`. Back references and look-around are not in that syntax.
    """
    return Pattern(text)


def _options() -> re2.Options:
    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1  # field values are bytes of unknown encoding
    options.max_mem = _MEMORY_BYTES
    options.never_capture = True
    options.log_errors = False  # RE2 would write them to stderr, but findings report them
    return options


def _said(problem: Exception) -> str:
    """RE2's words for `problem`, which come as bytes."""
    (words,) = problem.args
    return words.decode("ascii", "replace") if isinstance(words, bytes) else str(words)
