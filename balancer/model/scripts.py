"""Scripts in the model: what is asked of a request step by step, and what that makes of its answer.

A script is what nginx makes of the directives set, if, return and rewrite, and of fields whose values have variables
(ngx_http_rewrite_module, ngx_http_headers_module, headers-more). Texts hold variables, `$name` or `${name}`.
"""

from __future__ import annotations

from enum import Enum

import msgspec

from balancer.model.redirects import UrlForm


class FieldChange(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """Sets a field of responses in place of others of its name (headers-more: more_set_headers, more_clear_headers).

    An empty `text` removes the field. A `*` at the end of `name` stands for the rest of any name, and only removes.
    `statuses` and `types` are those of the responses that are changed; empty: all.
    """

    name: str
    text: str = ""
    statuses: tuple[int, ...] = ()
    types: tuple[str, ...] = ()


class FieldBeside(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """Adds a field to responses beside others of its name (nginx: add_header).

    An empty value adds nothing. Without `always` only responses that nginx counts as successful get the field.
    """

    name: str
    text: str
    always: bool = False


class Expiry(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """Says in Expires and Cache-Control how long a response is fresh (nginx: expires).

    `seconds` are relative to the response. `date` and `control` are the values instead, where both are fixed.
    """

    seconds: int = 0
    date: str = ""
    control: str = ""


class OrderedEdits(msgspec.Struct, frozen=True, omit_defaults=True, gc=False, tag="ordered_edits"):
    """Edits fields of responses in the order of nginx: `changes` one after the other, then `expiry`, then `beside`.

    `hidden` are names, in lower case, of fields that clients never get from endpoints.
    """

    hidden: tuple[str, ...] = ()
    changes: tuple[FieldChange, ...] = ()
    expiry: Expiry | None = None
    beside: tuple[FieldBeside, ...] = ()


class Comparing(Enum):
    """How a condition compares."""

    HOLDS = ""
    EQUAL = "="
    UNEQUAL = "!="
    FOUND = "~"
    FOUND_CASELESS = "~*"
    NOT_FOUND = "!~"
    NOT_FOUND_CASELESS = "!~*"


class Criterion(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """Whether a request meets a condition: the value of `text`, compared with `value`.

    `HOLDS`: the value is neither empty nor 0. `EQUAL` compares with a text that may hold variables; the others search
    for an expression in RE2's syntax.
    """

    text: str
    comparison: Comparing = Comparing.HOLDS
    value: str = ""


class SetVariable(msgspec.Struct, frozen=True, omit_defaults=True, gc=False, tag="set_variable"):
    """Gives the variable `name` a value."""

    name: str
    text: str


class AnswerWith(msgspec.Struct, frozen=True, omit_defaults=True, gc=False, tag="answer_with"):
    """Answers the request: with a redirect to `text`, which may be a path, or with the body `text`; None: no body."""

    status: int
    text: str | None = None


class RedirectFound(msgspec.Struct, frozen=True, omit_defaults=True, gc=False, tag="redirect_found"):
    """Redirects requests in whose path `expression` is found. `$1` to `$9` in `text` are what its groups capture.

    `keeps_query`: the query of the request is appended.
    """

    expression: str
    text: str
    status: int = 302
    keeps_query: bool = True


class RewritePath(msgspec.Struct, frozen=True, omit_defaults=True, gc=False, tag="rewrite_path"):
    """Matches a request anew in whose path `expression` is found, by the path `text` (nginx: rewrite … last).

    `$1` to `$9` in `text` are what its groups capture. The query stays, and so does the target that variables know.
    """

    expression: str
    text: str


PlainStep = SetVariable | AnswerWith | RedirectFound | RewritePath


class Conditional(msgspec.Struct, frozen=True, omit_defaults=True, gc=False, tag="conditional"):
    """Does `steps` if the request meets `test`.

    `edits` are then those of the response, instead of those of the script and of earlier conditions; None: they stay.
    `$1` to `$9` in the steps are what the groups of the expression of `test` capture.
    """

    test: Criterion
    steps: tuple[PlainStep, ...] = ()
    edits: OrderedEdits | None = None


Step = PlainStep | Conditional


class Script(msgspec.Struct, frozen=True, omit_defaults=True, gc=False, tag="script"):
    """Does `steps` in their order, until one answers the request.

    Otherwise the endpoint gets `request_fields`, names and texts, in place of the client's. `edits` are of the
    response, in the answers of the script, too. A path to redirect to is sent in `form`. `underscores`: variables know
    fields whose names have `_`.
    """

    steps: tuple[Step, ...] = ()
    request_fields: tuple[tuple[str, str], ...] = ()
    edits: OrderedEdits = OrderedEdits()
    form: UrlForm = UrlForm()
    underscores: bool = False


class HostScript(msgspec.Struct, frozen=True, omit_defaults=True, gc=False, tag="host_script"):
    """Does `steps` before anything of the route is asked. `edits` are of the answers of the script alone."""

    steps: tuple[Step, ...] = ()
    edits: OrderedEdits = OrderedEdits()
    form: UrlForm = UrlForm()
    underscores: bool = False
