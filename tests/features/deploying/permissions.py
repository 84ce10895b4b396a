"""What a set of objects permits, as a flat table: one row for each verb on each resource."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from tests.features.deploying.finding import of_kind
from tests.features.deploying.rendering import Document


class Grant(NamedTuple):
    """One verb on one resource. An empty namespace is the whole cluster; no names are all of them."""

    role: str
    namespace: str
    resource: str
    verb: str
    names: tuple[str, ...] = ()


def grants(objects: Iterable[Document]) -> list[Grant]:
    """Everything that the roles allow, sorted; what comes twice stays twice."""
    return sorted(grant for role in of_kind(objects, "Role", "ClusterRole") for grant in _of(role))


def _of(role: Document) -> Iterator[Grant]:
    metadata = role["metadata"]
    for rule in role["rules"]:
        for group in rule["apiGroups"]:
            for resource in rule["resources"]:
                for verb in rule["verbs"]:
                    names = tuple(rule.get("resourceNames", ()))
                    whole = f"{group}/{resource}" if group else resource
                    yield Grant(metadata["name"], metadata.get("namespace", ""), whole, verb, names)


def unbound(objects: tuple[Document, ...]) -> list[tuple[str, str]]:
    """Roles that no binding gives to our ServiceAccount, and bindings of anything else: kind and name."""
    roles = {(each["kind"], each["metadata"].get("namespace"), each["metadata"]["name"]) for each in _roles(objects)}
    account = [{"kind": "ServiceAccount", "name": "zonal", "namespace": "zonal"}]
    bound = set()
    for each in of_kind(objects, "RoleBinding", "ClusterRoleBinding"):
        given = each["subjects"] == account and each["roleRef"]["apiGroup"] == "rbac.authorization.k8s.io"
        metadata = each["metadata"]
        bound.add((each["roleRef"]["kind"] if given else "?", metadata.get("namespace"), each["roleRef"]["name"]))
    return sorted((kind, name) for kind, _, name in roles ^ bound)


def _roles(objects: Iterable[Document]) -> list[Document]:
    return of_kind(objects, "Role", "ClusterRole")
