"""What a request to the API is about, read from its method, path, query and fields.

Responsible for the vocabulary of RBAC (verb, group, resource, subresource, namespace, name) and for content
negotiation. It must not know what is answered.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tests.fakes.apiserver.kinds import BY_PATH, Resource
from tests.fakes.apiserver.selectors import selected_name
from tests.fakes.apiserver.statuses import RefusedError, bad_request, failure
from tests.fakes.apiserver.store import Form

_VERBS = {"POST": "create", "PUT": "update", "PATCH": "patch"}
_SUBRESOURCES_OF_NAMESPACES = ("status", "finalize")


@dataclass(slots=True)
class Call:
    """One request as it was received, with the status it was answered with: 0 while, or where, it has no answer.

    `at` is `time.monotonic()`. `verb` is RBAC's; a path that is no resource's has the verb `get` and no resource.
    `name` is also that of a list or watch whose field selector asks for one name, as RBAC sees it. `user` is the bearer
    token, or `system:anonymous`.
    """

    at: float
    method: str
    path: str
    query: Mapping[str, str] = field(default_factory=dict)
    verb: str = "get"
    group: str = ""
    version: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    user: str = "system:anonymous"
    user_agent: str = ""
    accept: str = ""
    status: int = 0

    @property
    def is_watch(self) -> bool:
        return self.verb == "watch"

    @property
    def is_portforward(self) -> bool:
        return (self.resource, self.subresource) == ("pods", "portforward")

    def known_resource(self) -> Resource | None:
        """The resource that the path names, where the server has it."""
        found = BY_PATH.get((self.group, self.version, self.resource))
        if found is None or (self.namespace and not found.is_namespaced):
            return None
        return found if not self.subresource or (self.subresource == "status" and found.has_status) else None


def place(call: Call) -> Call:
    """Fill in what path and query say."""
    steps = call.path.strip("/").split("/")
    if steps[0] == "api" and len(steps) > 2:
        call.version, rest = steps[1], steps[2:]
    elif steps[0] == "apis" and len(steps) > 3:
        call.group, call.version, rest = steps[1], steps[2], steps[3:]
    else:
        return call
    if rest[0] == "namespaces" and len(rest) > 2 and rest[2] not in _SUBRESOURCES_OF_NAMESPACES:
        call.namespace, rest = rest[1], rest[2:]
    call.resource, call.name, call.subresource = (*rest, "", "")[:3]
    call.verb = _verb(call)
    if not call.name:
        call.name = selected_name(call.query.get("fieldSelector", ""))
    return call


def _verb(call: Call) -> str:
    if call.method == "DELETE":
        return "delete" if call.name else "deletecollection"
    if call.method in _VERBS:
        return _VERBS[call.method]
    if call.query.get("watch", "") in ("1", "true"):
        return "watch"
    return "get" if call.name else "list"


def form_of(accept: str, verb: str) -> Form:
    """The first form asked for that the server has: it has no tables and no protobuf. Raises `RefusedError`, 406.

    A watch that asks for a list of metadata gets whole objects, as the recording of such a watch shows.
    """
    for choice in (accept or "*/*").split(","):
        media, *parameters = (part.strip() for part in choice.split(";"))
        asked = dict(parameter.split("=", 1) for parameter in parameters if "=" in parameter).get("as", "")
        if media not in ("application/json", "application/*", "*/*") or asked == "Table":
            continue
        if asked == ("PartialObjectMetadataList" if verb == "list" else "PartialObjectMetadata"):
            return Form.METADATA
        if not asked or verb == "watch":
            return Form.FULL
    message = "only the following media types are accepted: application/json, application/yaml"
    raise RefusedError(failure(406, message))


def number(query: Mapping[str, str], name: str) -> int:
    """A number of the query, 0 where it is not given. Raises `RefusedError`, 400, for any other text."""
    text = query.get(name, "")
    try:
        return int(text or 0)
    except ValueError:
        raise bad_request(f'strconv.ParseInt: parsing "{text}": invalid syntax') from None
