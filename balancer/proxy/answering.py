"""Writes the answers of the proxy itself to one request: errors, and what gates answer.

Makes the request for an error page, which comes from an endpoint that is asked like any other.
"""

from __future__ import annotations

import time

from balancer.errors import ErrorKind
from balancer.http import grpc
from balancer.http.dates import http_date
from balancer.http.edits import FieldSetter, HeadEdit
from balancer.http.messages import field_value
from balancer.http.streams import Outgoing
from balancer.matching.gates.verdicts import Reply
from balancer.matching.stand_ins import RouteStandIns
from balancer.proxy.answers import ANSWERS, Response, error_response, grpc_response, reply_response
from balancer.proxy.bodies import KeptBody
from balancer.proxy.context import RequestContext
from balancer.proxy.error_pages import has_page, note_attempt, page_request

_ERROR_LEAST = 400


def write_error(context: RequestContext, kind: ErrorKind) -> None:
    """Answers with what went wrong."""
    answer, stream, request = ANSWERS[kind], context.stream, context.account.request
    stream.last = stream.last or answer.close
    accept = field_value(request.fields, b"accept") or b"" if request is not None else b""
    response = error_response(answer, accept=accept, head_only=_is_head_only(context), date=http_date(time.time()))
    _respond(context, response, answer.grpc_status)


def write_reply(context: RequestContext, reply: Reply) -> None:
    """Answers as a gate says."""
    _respond(context, reply_response(reply, head_only=_is_head_only(context), date=http_date(time.time())))


def wants_page(context: RequestContext, kind: ErrorKind, status: int) -> bool:
    """Whether an error page answers. No client of gRPC could read one."""
    if context.account.destination is None:
        return False
    return has_page(context.match.served.stand_ins, kind, status) and not _is_call(context)


def put_challenge(context: RequestContext, reply: Reply) -> None:
    """Lets the fields of a gate's reply go with the page that replaces it: the challenge of a 401, as in nginx."""
    told = tuple(field for field in reply.fields if field[0].lower() != b"content-type")
    context.editors += (FieldSetter(told, replaces=False),) if told else ()


def ask_for_page(
    context: RequestContext, stand_ins: RouteStandIns, status: int, kept: KeptBody | None, *, with_body: bool
) -> tuple[Outgoing, KeptBody | None]:
    """The request for the error page of `status`, and its body. The attempt before it is over.

    `kept` is the part of the client's body that has come already. `with_body`: the page may get the body.
    """
    stream, account = context.stream, context.account
    kept = kept if with_body and stream.body_begun and kept is not None and kept.is_whole else None
    with_body = with_body and (kept is not None or not stream.body_begun)  # else a part of it is gone
    origin = context.origin
    passing = context.view.passing[origin.is_trusted]
    asked = page_request(stand_ins, status, account, origin, passing=passing, with_body=with_body)
    note_attempt(account)
    account.forget_attempt()
    context.page_status = status
    return asked, kept


def _respond(context: RequestContext, response: Response, grpc_status: int | None = None) -> None:
    """Writes `response`. `grpc_status` is what a gRPC call gets, None for what follows from the status."""
    account, stream, request = context.account, context.stream, context.account.request
    if response.head.status >= _ERROR_LEAST and _is_call(context):
        account.status = 200
        if grpc_status is None:
            grpc_status = grpc.status_for(response.head.status)
        account.grpc_status = grpc_status
        response = grpc_response(response, grpc_status)
    # Our own answer leaves a body unread.
    stream.last = stream.last or request is None or request.body_bytes != 0
    edit = context.view.edits.secure if stream.secure else context.view.edits.plain
    edit = HeadEdit(edit.removed, response.fields + edit.added)
    if request is not None and account.destination is not None:
        for editor in context.editors:
            edit = editor.edit(request, context.origin, response.head, edit)
    stream.respond(response.head, edit, response.body, ())


def _is_call(context: RequestContext) -> bool:
    request = context.account.request
    return request is not None and grpc.is_call(request.fields)


def _is_head_only(context: RequestContext) -> bool:
    request = context.account.request
    return request is not None and request.method == b"HEAD"
