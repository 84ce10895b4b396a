"""Compiles regular expressions of tenants: RE2 searches them in time proportional to the text.

Limits what is accepted and how much one search may cost. Does not know what is searched. Python's `re` backtracks, so a
tenant's pattern could block an event loop for hours. ADR 14 says why RE2.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any
from weakref import WeakValueDictionary

# A search costs at most about one step per instruction and byte, of 10 to 16 ns; a search of a set takes 20 to 32 ns. A
# plain character is one instruction, and a counted repetition is written out. Patterns that people write have fewer
# than 100.
INSTRUCTIONS_MAX = 256
# So many steps take at most 2 ms of the event loop. A client, an endpoint or a certificate chooses the text, and a
# tenant the pattern, so a text with which a search may take more steps is not searched.
STEPS_MOST = 128 * 1024
# All searches that one request needs for the rules of one place together (its canaries, its conditions, its snippet):
# a tenant decides how many rules there are.
_STEPS_TOGETHER_MOST = 2 * STEPS_MOST
# A longer text has a program beyond `INSTRUCTIONS_MAX`, or costs more to read than it can be worth.
CHARACTERS_MAX = 4096
_TOO_LARGE = "the pattern is too large"
_COUNT = re.compile(r"(?<!\\)\{([0-9]+)(?:,([0-9]*))?\}")
# Verdicts are remembered of so many texts: tens of thousands of canaries must not be compiled anew for each change.
_REMEMBERED = 32 * 1024
# Longer texts are few, and read anew in less than a millisecond. Of the longest ones the verdicts would take 256 MiB.
_REMEMBERED_CHARACTERS = 512
# For each pattern: its program and the states that RE2 remembers. When this memory is full RE2 forgets states, and
# finally searches without them: slower, but still in linear time.
_MEMORY_BYTES = 256 * 1024
# So many patterns of a set share one program, and all but the first have so many characters together. Then the program
# is compiled in ten milliseconds at most.
_SET_MOST = 64
_SET_CHARACTERS_MOST = 8 * 1024
# RE2 gives a quarter of the memory to the program, which takes 16 bytes for each instruction.
_SET_MEMORY_BYTES_EACH = 64 * 1024
_SET_MEMORY_BYTES_EACH_CHARACTER = 64


class PatternError(ValueError):
    """RE2 refuses the pattern, or the pattern is too large; the text says which."""


class Pattern:
    """A compiled pattern.

    `instructions` is the size of its program. `groups` is the number of its groups, and `names` says which of them
    have a name; both are 0 and empty unless the pattern was compiled to capture.
    """

    __slots__ = ("__weakref__", "_search", "groups", "instructions", "names")

    def __init__(self, text: str, options: Any) -> None:
        """`options` are those of RE2. Raises `PatternError`."""
        import re2

        try:
            compiled = re2.compile(text.encode("ascii"), options)
        except UnicodeEncodeError:
            raise PatternError("only ASCII is supported") from None
        except re2.error as problem:
            raise PatternError(_said(problem)) from None
        self._search = compiled.search
        self.instructions: int = compiled.programsize
        self.groups: int = compiled.groups
        self.names: Mapping[str, int] = {name.decode(): group for name, group in compiled.groupindex.items()}

    def affords(self, size: int) -> bool:
        """Whether texts of `size` bytes together can be searched within `STEPS_MOST`."""
        return self.instructions * size <= STEPS_MOST

    def search(self, text: bytes) -> bool:
        """Whether the pattern matches anywhere in `text`."""
        return self._search(text) is not None

    def captures(self, text: bytes) -> tuple[bytes, ...] | None:
        """What the groups capture of the leftmost match in `text`, or None without a match.

        A group that takes no part in the match captures nothing.
        """
        found = self._search(text)
        return None if found is None else found.groups(default=b"")


class Searches:
    """What the searches of one request may still cost together. After one that costs too much there is no other."""

    __slots__ = ("_left",)

    def __init__(self) -> None:
        self._left = _STEPS_TOGETHER_MOST

    def afford(self, pattern: Pattern, size: int) -> bool:
        """Whether a text of `size` bytes may be searched, too. Its search is counted."""
        steps = pattern.instructions * size
        if steps > STEPS_MOST:
            return False
        self._left -= steps
        return self._left >= 0


class PatternSet:
    """Patterns in their order. Finds the first that matches, with about one search for all of them."""

    __slots__ = ("_parts",)

    def __init__(self, texts: Sequence[str]) -> None:
        """`texts` are patterns that `compile_caseless` takes."""
        self._parts: list[_SetPart] = []
        for _ in self._compiling(texts):
            pass

    @classmethod
    def compiling(cls, texts: Sequence[str]) -> Generator[None, None, PatternSet]:
        """Makes the set of `texts`, in steps of some milliseconds."""
        made = cls(())
        yield from made._compiling(texts)
        return made

    def _compiling(self, texts: Sequence[str]) -> Iterator[None]:
        begin = 0
        for end in _cuts(texts):
            self._parts.append(_SetPart(texts[begin:end], begin))
            begin = end
            yield

    def first(self, text: bytes) -> int | None:
        """The place of the first pattern that matches anywhere in `text`, ignoring the case of letters, or None."""
        for part in self._parts:
            if (found := part.first(text)) is not None:
                return found
        return None

    def all(self, text: bytes) -> Iterator[int]:
        """The places of all patterns that match anywhere in `text`, in order. Searched as far as they are asked for."""
        for part in self._parts:
            yield from part.all(text)


def _cuts(texts: Sequence[str]) -> Iterator[int]:
    """Where the parts of a set end."""
    begin = characters = 0
    for place, text in enumerate(texts):
        characters += len(text)
        if place > begin and (place - begin == _SET_MOST or characters > _SET_CHARACTERS_MOST):
            yield place
            begin, characters = place, len(text)
    if texts:
        yield len(texts)


class _SetPart:
    """Some patterns of a set that are compiled to one program. Their first place is `begin`."""

    __slots__ = ("_begin", "_match", "_texts")

    def __init__(self, texts: Sequence[str], begin: int) -> None:
        import re2

        self._begin = begin
        self._texts = texts
        memory_bytes = _MEMORY_BYTES + sum(
            _SET_MEMORY_BYTES_EACH + len(text) * _SET_MEMORY_BYTES_EACH_CHARACTER for text in texts
        )
        compiled = re2.Set.SearchSet(_options(ignores_case=True, memory_bytes=memory_bytes))
        for text in texts:
            compiled.Add(text.encode("ascii"))
        compiled.Add(b"")  # matches always, so a search without a result is a search that failed
        try:
            compiled.Compile()
            self._match = compiled.Match
        except re2.error:  # the patterns are accepted one by one, and only their common program is too large
            self._match = _fail

    def first(self, text: bytes) -> int | None:
        found = self._match(text)
        place = min(self._found_singly(text) if found is None else found, default=len(self._texts))
        return self._begin + place if place < len(self._texts) else None

    def all(self, text: bytes) -> list[int]:
        found = self._match(text)
        places = self._found_singly(text) if found is None else found
        return [self._begin + place for place in sorted(places) if place < len(self._texts)]

    def _found_singly(self, text: bytes) -> list[int]:
        """What is found where the memory is too small for the states of one search."""
        return [place for place, each in enumerate(self._texts) if compile_caseless(each).search(text)]


# Every swap asks for the same patterns. The last view holds them, so nobody's patterns push out those of another.
_in_use: WeakValueDictionary[str, Pattern] = WeakValueDictionary()
_refused: dict[str, str] = {}  # what is wrong with texts that were refused


def compile_pattern(text: str) -> Pattern:
    """The pattern in `text`, in RE2's syntax (https://github.com/google/re2/wiki/Syntax), over single bytes.

    Raises `PatternError`. Back references and look-around are not in that syntax. A pattern that somebody still uses is
    not compiled again.
    """
    pattern = _in_use.get(text)
    if pattern is None:
        if text in _refused:
            raise PatternError(_refused[text])
        try:
            pattern = _in_use[text] = _compiled(text)
        except PatternError as problem:
            if len(_refused) >= _REMEMBERED:
                _refused.clear()
            if len(text) <= _REMEMBERED_CHARACTERS:
                _refused[text] = str(problem)
            raise
    return pattern


def pattern_problem(text: str) -> str | None:
    """Why `compile_pattern` refuses `text`; None if it does not. For whoever does not keep the pattern."""
    return _known_problem(text) if len(text) <= _REMEMBERED_CHARACTERS else _problem(text)


def _problem(text: str) -> str | None:
    try:
        compile_pattern(text)
    except PatternError as problem:
        return str(problem)
    return None


_known_problem = lru_cache(maxsize=_REMEMBERED)(_problem)


def _compiled(text: str) -> Pattern:
    # RE2 writes counted repetitions out, and takes milliseconds to find that there are too many.
    if len(text) > CHARACTERS_MAX or sum(int(most or least) for least, most in _COUNT.findall(text)) > INSTRUCTIONS_MAX:
        raise PatternError(_TOO_LARGE)
    pattern = Pattern(text, _options(never_capture=True))
    if pattern.instructions > INSTRUCTIONS_MAX:
        raise PatternError(_TOO_LARGE)
    return pattern


@lru_cache(maxsize=1024)
def compile_caseless(text: str) -> Pattern:
    """As `compile_pattern`, but the pattern ignores the case of letters, captures, and may have any size.

    The caller limits the size, because only the caller knows how many patterns search one text.
    """
    return Pattern(text, _options(ignores_case=True))


@lru_cache(maxsize=1024)
def compile_capturing(text: str, *, ignores_case: bool = False) -> Pattern:
    """As `compile_pattern`, but the pattern captures."""
    if len(text) > CHARACTERS_MAX:
        raise PatternError(_TOO_LARGE)
    pattern = Pattern(text, _options(ignores_case=ignores_case))
    if pattern.instructions > INSTRUCTIONS_MAX:
        raise PatternError(_TOO_LARGE)
    return pattern


def _options(*, ignores_case: bool = False, never_capture: bool = False, memory_bytes: int = _MEMORY_BYTES) -> Any:
    import re2

    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1  # field values and paths are bytes of unknown encoding
    options.max_mem = memory_bytes
    options.case_sensitive = not ignores_case
    options.never_capture = never_capture
    options.log_errors = False  # RE2 would write them to stderr, but findings report them
    return options


def _fail(_text: bytes) -> None:
    return None


def _said(problem: Exception) -> str:
    """RE2's words for `problem`, which come as bytes."""
    (words,) = problem.args
    return words.decode("ascii", "replace") if isinstance(words, bytes) else str(words)
