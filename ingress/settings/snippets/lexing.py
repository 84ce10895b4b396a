"""Reads text of nginx's configuration into directives, each with the line on which it begins.

The words are found by the lexer of crossplane; ADR 39 says why. Whatever that lexer would pass over is a problem here.
Does not know any directive.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

_CHARACTERS_MOST = 16 * 1024
# Each costs every request some microseconds, and more if the request is made for that.
_VARIABLES_MOST = 200
_NOT_PLAIN = re.compile(r"[^\t\n\r -~]")
# nginx ngx_conf_read_token: what a backslash stands before.
_ESCAPED = re.compile(r"\\([\"'\\tnr])")
_CONTROLS = {"t": "\t", "n": "\n", "r": "\r"}
# The lexer drops what is not ended. Text that reaches these words was read to its end.
_END = "zonal_end_of_snippet"

Token = tuple[str, int, bool]
"""A word, its line, and whether it stood in quotes."""


class SnippetProblem(Exception):
    """A line of a snippet is not carried out. `why` is a clause about the line, `instead` says what to write.

    `others` are further lines that are not carried out, as far as they are known.
    """

    def __init__(self, line: int, why: str, instead: str = "", others: tuple[int, ...] = ()) -> None:
        super().__init__(line, why, instead, others)
        self.line = line
        self.why = why
        self.instead = instead
        self.others = others

    @property
    def text(self) -> str:
        """The problem as a clause."""
        also = ", ".join(map(str, self.others))
        more = f" (nor {'is line' if len(self.others) == 1 else 'are lines'} {also})" if also else ""
        return f"line {self.line}: {self.why}{more}"


class Directive(msgspec.Struct, frozen=True):
    """A directive, its arguments and the directives of its block; None: it has no block."""

    name: str
    args: tuple[str, ...]
    line: int
    block: tuple[Directive, ...] | None = None


def read_directives(text: str) -> tuple[Directive, ...]:
    """The directives of a snippet. Raises `SnippetProblem` for text that nginx would not read either, and for more."""
    if len(text) > _CHARACTERS_MOST:
        raise SnippetProblem(1, f"a snippet has at most {_CHARACTERS_MOST} characters")
    if (odd := _NOT_PLAIN.search(text)) is not None:
        raise SnippetProblem(text.count("\n", 0, odd.start()) + 1, "only ASCII text is read")
    if text.count("$") > _VARIABLES_MOST:
        raise SnippetProblem(1, f"a snippet has at most {_VARIABLES_MOST} variables and signs $")
    tokens = _tokens(text)
    found = tuple(_block(tokens, None))
    if not found or found[-1].name != _END or found[-1].args:
        raise SnippetProblem(found[-1].line if found else 1, "a directive or a quotation is not ended")
    return found[:-1]


def _tokens(text: str) -> Iterator[Token]:
    from crossplane.lexer import _lex_file_object  # loaded only where there is a snippet

    for word, line, quoted in _lex_file_object([f"{text}\n{_END};\n"]):
        if quoted or not word.startswith("#"):
            yield _ESCAPED.sub(lambda found: _CONTROLS.get(found[1], found[1]), word), line, quoted


def _block(tokens: Iterator[Token], opened: int | None) -> Iterator[Directive]:
    """The directives up to the end of a block, or of the text where `opened`, the line of the block, is None."""
    words: list[str] = []
    first = 0
    for word, line, quoted in tokens:
        first = first if words else line
        if quoted or word not in {";", "{", "}"}:
            words.append(word)
            continue
        if word == "}" and not words and opened is not None:
            return
        if word == "}" or not words:
            raise SnippetProblem(line, f'there is a "{word}" too many')
        inner = tuple(_block(tokens, line)) if word == "{" else None
        yield Directive(words[0], tuple(words[1:]), first, inner)
        words = []
    if opened is not None or words:
        raise SnippetProblem(opened or first, "a directive or a block is not ended")
