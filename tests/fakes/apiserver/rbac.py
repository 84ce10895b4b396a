"""RBAC: whether a call is granted by a list of rules.

Responsible for the decision and for its refusal. It must not know roles or bindings: a rule may carry the namespace it
holds in.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tests.fakes.apiserver.requests import Call
from tests.fakes.apiserver.statuses import RefusedError, failure

Rule = Mapping[str, object]
"""A rule of a Role or ClusterRole, as its manifest has it, and optionally `namespace`."""


def is_granted(call: Call, rules: Iterable[Rule]) -> bool:
    """Whether some rule grants the call. Paths that are no resource's are free, as `system:discovery` has them."""
    return not call.resource or any(_grants(rule, call) for rule in rules)


def _grants(rule: Rule, call: Call) -> bool:
    resource = f"{call.resource}/{call.subresource}" if call.subresource else call.resource
    names = _listed(rule, "resourceNames")
    return (
        rule.get("namespace") in (None, "", call.namespace)
        and _holds(_listed(rule, "apiGroups"), call.group)
        and _holds(_listed(rule, "resources"), resource)
        and _holds(_listed(rule, "verbs"), call.verb)
        and (not names or call.name in names)
    )


def _listed(rule: Rule, field: str) -> list[str]:
    value = rule.get(field)
    return [str(item) for item in value] if isinstance(value, list | tuple) else []


def _holds(listed: list[str], value: str) -> bool:
    return "*" in listed or value in listed


def forbidden(call: Call) -> RefusedError:
    """403 in the API's words."""
    resource = f"{call.resource}.{call.group}" if call.group else call.resource
    is_named = call.name and call.verb not in ("list", "watch", "create")
    subject = f'{resource} "{call.name}"' if is_named else resource
    asked = f"{call.resource}/{call.subresource}" if call.subresource else call.resource
    where = f'in the namespace "{call.namespace}"' if call.namespace else "at the cluster scope"
    message = (
        f'{subject} is forbidden: User "{call.user}" cannot {call.verb} resource "{asked}" '
        f'in API group "{call.group}" {where}'
    )
    details = ({"name": call.name} if is_named else {}) | ({"group": call.group} if call.group else {})
    return RefusedError(failure(403, message, details=details | {"kind": call.resource}))
