"""The answers of the proxy itself to one request: errors, error pages, and what gates answer.

The error page of a route comes from an endpoint, which is asked like any other.
"""

from __future__ import annotations

import time
from email.utils import formatdate

from balancer.errors import ErrorKind
from balancer.http import grpc
from balancer.http.edits import FieldSetter, HeadEdit
from balancer.http.messages import field_value
from balancer.matching.gates.verdicts import Reply
from balancer.matching.served import Match
from balancer.proxy.answers import ANSWERS, Response, error_response, grpc_response, reply_response
from balancer.proxy.bodies import KeptBody
from balancer.proxy.error_pages import has_page, note_attempt, page_request
from balancer.proxy.holding import Holding

_ERROR_LEAST = 400


class Answering(Holding):
    """Answers one request, or forwards it.

    `match` is set when a route matches, and so are the editors. `page_status` is the status of the error whose page is
    fetched, else 0.
    """

    __slots__ = ("match", "page_status")

    match: Match
    page_status: int

    def end(self) -> None:
        """The request is over."""
        raise NotImplementedError

    def answer(self, kind: ErrorKind, kept: KeptBody | None = None) -> None:
        """Says what went wrong. `kept` is the part of the client's body that has come already, if it is still there."""
        account, answer = self.account, ANSWERS[kind]
        grpc_status = answer.grpc_status
        account.error, account.status = kind, answer.status
        request = account.request
        if account.destination is not None and self._has_page(kind, answer.status):
            return self.show_page(answer.status, kept, with_body=kind is not ErrorKind.BODY_TOO_LARGE)
        if kind is not ErrorKind.CLIENT_LEFT:
            self.stream.last = self.stream.last or answer.close
            accept = field_value(request.fields, b"accept") or b"" if request is not None else b""
            response = error_response(answer, accept=accept, head_only=self._is_head_only(), date=_date())
            self._respond(response, grpc_status)
        self.end()

    def answer_plainly(self, status: int, kind: ErrorKind | None) -> None:
        """Answers with a small page. `kind` is the error that the log names, None for the one that it names already."""
        self.account.error, self.account.status = kind or self.account.error, status
        self._respond(reply_response(Reply(status), head_only=self._is_head_only(), date=_date()))
        self.end()

    def show_page(self, status: int, kept: KeptBody | None, *, with_body: bool) -> None:
        """Answers with the error page of the route. `kept` is the part of the client's body that has come already."""
        stand_ins = self.match.served.stand_ins
        assert stand_ins is not None
        view, account = self.view, self.account
        if stand_ins.page is None or not view.has_endpoints(stand_ins.page.backend):
            return self.answer_plainly(status, None)
        kept = kept if with_body and self.stream.body_begun and kept is not None and kept.is_whole else None
        with_body = with_body and (kept is not None or not self.stream.body_begun)  # else a part of it is gone
        origin = self.stream.origin
        passing = view.passing[origin.is_trusted]
        asked = page_request(stand_ins, status, account, origin, passing=passing, with_body=with_body)
        note_attempt(account)
        account.forget_attempt()
        self.page_status = status
        self.forward(asked, stand_ins.page, time.perf_counter(), kept)

    def reply(self, reply: Reply) -> None:
        """Answers as a gate says."""
        self.account.error, self.account.status = reply.kind, reply.status
        if reply.kind is not None and self._has_page(reply.kind, reply.status):
            # The challenge of a 401 goes with its page, as in nginx.
            told = tuple(field for field in reply.fields if field[0].lower() != b"content-type")
            self.editors += (FieldSetter(told, replaces=False),) if told else ()
            return self.show_page(reply.status, None, with_body=True)
        self._respond(reply_response(reply, head_only=self._is_head_only(), date=_date()))
        self.end()

    def _has_page(self, kind: ErrorKind, status: int) -> bool:
        """Whether an error page answers. No client of gRPC could read one."""
        return has_page(self.match.served.stand_ins, kind, status) and not self._is_call()

    def _is_call(self) -> bool:
        request = self.account.request
        return request is not None and grpc.is_call(request.fields)

    def _respond(self, response: Response, grpc_status: int | None = None) -> None:
        stream, request = self.stream, self.account.request
        if response.head.status >= _ERROR_LEAST and self._is_call():
            if grpc_status is None:
                grpc_status = grpc.status_for(response.head.status)
            self.account.status, self.account.grpc_status = 200, grpc_status
            response = grpc_response(response, grpc_status)
        # Our own answer leaves a body unread.
        stream.last = stream.last or request is None or request.body_bytes != 0
        edit = self.view.edits.secure if stream.secure else self.view.edits.plain
        edit = HeadEdit(edit.removed, response.fields + edit.added)
        if request is not None and self.account.destination is not None:
            for editor in self.editors:
                edit = editor.edit(request, stream.origin, response.head, edit)
        stream.respond(response.head, edit, response.body, ())

    def _is_head_only(self) -> bool:
        request = self.account.request
        return request is not None and request.method == b"HEAD"


def _date() -> bytes:
    return formatdate(usegmt=True).encode("ascii")
