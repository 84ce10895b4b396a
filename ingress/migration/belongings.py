"""Says what of an object belongs to the program that made or applies the object, so that no copy may carry it.

A copy with an owner, a finalizer or a mark of Argo CD, Flux or Helm would be pruned, adopted or never deleted. Tables
only. Does not know what an object serves.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

OF_THE_SERVER = ("uid", "resourceVersion", "creationTimestamp", "generation", "managedFields", "selfLink")
"""Fields of metadata that only the API server writes."""

OF_OWNERS = ("finalizers", "ownerReferences", "deletionTimestamp", "deletionGracePeriodSeconds", "generateName")
"""Fields of metadata that bind an object to others, or to its own deletion."""

SOLVER_LABEL = "acme.cert-manager.io/http01-solver"
"""The label of Ingresses that cert-manager makes to answer a challenge, and deletes again."""

_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
_PREFIXES: Mapping[str, str] = {
    "argocd.argoproj.io/": "Argo CD",
    "kustomize.toolkit.fluxcd.io/": "Flux",
    "helm.toolkit.fluxcd.io/": "Flux",
    "fluxcd.io/": "Flux",
    "meta.helm.sh/": "Helm",
    "helm.sh/": "Helm",
    "objectset.rio.cattle.io/": "Rancher Fleet",
    "kapp.k14s.io/": "kapp",
    "kustomize.config.k8s.io/": "kustomize",
    "cli-utils.sigs.k8s.io/": "kpt",
}
_NAMES: Mapping[str, str] = {
    "app.kubernetes.io/managed-by": "Helm or another manager",
    "app.kubernetes.io/instance": "Argo CD or Helm",
    "heritage": "Helm",
    "release": "Helm",
    "chart": "Helm",
}


def foreign(names: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """The labels or annotations among `names` that belong to a program, each with its name; "" for kubectl."""
    for name in names:
        if name == _LAST_APPLIED:
            yield name, ""
            continue
        owner = _NAMES.get(name) or next((owner for prefix, owner in _PREFIXES.items() if name.startswith(prefix)), "")
        if owner:
            yield name, owner


LEFT_TO_CERT_MANAGER = "is left out: cert-manager made it for a challenge, and deletes it again."
"""What is said of such an Ingress, behind its name."""


def is_solver(labels: object) -> bool:
    """Whether cert-manager made the Ingress with these `labels`, as they were read, for a challenge."""
    return isinstance(labels, Mapping) and str(labels.get(SOLVER_LABEL, "")).lower() == "true"
