"""The Status documents of the API: every refusal as a real API server words it.

Responsible for kind, reason, details and message of refusals. It must not know which request is refused, or why.
"""

from __future__ import annotations

import msgspec

from tests.fakes.apiserver.kinds import Document, Resource

INCONSISTENT = (
    "The provided continue parameter is too old to display a consistent list result. You can start a new list without "
    "the continue parameter, or use the continue token in this response to retrieve the remainder of the results. "
    "Continuing with the provided token results in an inconsistent list - objects that were created, modified, or "
    "deleted between the time the first chunk was returned and now may show up in the list."
)
NOT_STREAMING = (
    "a watch stream was requested by the client but the required storage feature RequestWatchProgress is disabled"
)
REASONS = {
    400: "BadRequest",
    401: "Unauthorized",
    403: "Forbidden",
    404: "NotFound",
    405: "MethodNotAllowed",
    406: "NotAcceptable",
    409: "Conflict",
    410: "Expired",
    415: "UnsupportedMediaType",
    422: "Invalid",
    429: "TooManyRequests",
    500: "InternalError",
    503: "ServiceUnavailable",
    504: "Timeout",
}


class RefusedError(Exception):
    """A request is refused; `status` is the Status document that says so."""

    def __init__(self, status: Document) -> None:
        super().__init__(status["message"])
        self.status = status

    @property
    def code(self) -> int:
        code: int = self.status["code"]
        return code


class Problem(msgspec.Struct, frozen=True):
    """One invalid field: `reason` as in FieldValueInvalid, and the words that follow the path."""

    field: str
    reason: str
    text: str


def failure(code: int, message: str, *, reason: str = "", details: Document | None = None) -> Document:
    """The Status of a refusal; the reason is the usual one of its code unless another is given."""
    status: Document = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "message": message}
    status["reason"] = reason or REASONS.get(code, "Unknown")
    return status | ({"details": details} if details else {}) | {"code": code}


def bad_request(message: str) -> RefusedError:
    return RefusedError(failure(400, message))


def not_found(resource: Resource, name: str) -> RefusedError:
    return RefusedError(failure(404, f'{resource.qualified} "{name}" not found', details=_details(resource, name)))


def already_exists(resource: Resource, name: str) -> RefusedError:
    message = f'{resource.qualified} "{name}" already exists'
    return RefusedError(failure(409, message, reason="AlreadyExists", details=_details(resource, name)))


def conflict(resource: Resource, name: str, problem: str = "") -> RefusedError:
    """A write that is not about the object as it is now."""
    problem = problem or "the object has been modified; please apply your changes to the latest version and try again"
    message = f'Operation cannot be fulfilled on {resource.qualified} "{name}": {problem}'
    return RefusedError(failure(409, message, details=_details(resource, name)))


def invalid(kind: str, group: str, name: str, problems: list[Problem]) -> RefusedError:
    """An object, or options of a request, with fields that may not be so."""
    texts = [f"{problem.field}: {problem.text}" for problem in problems]
    listed = texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
    causes = [{"reason": problem.reason, "message": problem.text, "field": problem.field} for problem in problems]
    details = ({"name": name} if name else {}) | ({"group": group} if group else {}) | {"kind": kind, "causes": causes}
    of_group = f".{group}" if group else ""
    return RefusedError(failure(422, f'{kind}{of_group} "{name}" is invalid: {listed}', details=details))


def deleted(resource: Resource, name: str, uid: str) -> Document:
    """What is answered to a deletion by the kinds that do not answer the object."""
    details = _details(resource, name) | {"uid": uid}
    return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details}


def _details(resource: Resource, name: str) -> Document:
    return {"name": name} | ({"group": resource.group} if resource.group else {}) | {"kind": resource.plural}
