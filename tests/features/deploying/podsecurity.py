"""The Pod Security Standard "restricted", and what we ask of our own pod beyond it.

https://kubernetes.io/docs/concepts/security/pod-security-standards/ (baseline and restricted, Linux pods). Each check
returns sentences about what is wrong; an empty list is a pass.
"""

from __future__ import annotations

from collections.abc import Iterator

from tests.features.deploying.rendering import Document

_VOLUMES = {"configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "persistentVolumeClaim", "projected", "secret"}
# A service mesh or the node itself may use the smaller ids.
_LEAST_UID = 10_000


def violations(spec: Document) -> list[str]:
    """How a pod's spec breaks the restricted profile."""
    found = [f"{name} is set" for name in ("hostNetwork", "hostPID", "hostIPC") if spec.get(name)]
    found += [f"volume {each['name']}" for each in spec.get("volumes", ()) if not (set(each) - {"name"}) <= _VOLUMES]
    for kind in ("containers", "initContainers", "ephemeralContainers"):
        for container in spec.get(kind, ()):
            found += [f"{container['name']}: {text}" for text in _of_container(spec, container)]
    return found


def _of_container(spec: Document, container: Document) -> Iterator[str]:
    own = container.get("securityContext", {})
    both = {**spec.get("securityContext", {}), **own}
    capabilities = own.get("capabilities", {})
    if own.get("privileged"):
        yield "privileged"
    if own.get("allowPrivilegeEscalation") is not False:
        yield "may escalate"
    if not both.get("runAsNonRoot") or both.get("runAsUser") == 0:
        yield "may be root"
    if "ALL" not in capabilities.get("drop", ()) or set(capabilities.get("add", ())) - {"NET_BIND_SERVICE"}:
        yield "keeps capabilities"
    if both.get("seccompProfile", {}).get("type") not in ("RuntimeDefault", "Localhost"):
        yield "no seccomp profile"
    if any("hostPort" in port for port in container.get("ports", ())):
        yield "a port of the host"


def looseness(spec: Document) -> list[str]:
    """What our own pod must have beyond the restricted profile."""
    (container,) = spec["containers"]
    own = container["securityContext"]
    wanted = {
        "a fixed high uid": spec["securityContext"].get("runAsUser", 0) > _LEAST_UID,
        "a read-only root": own.get("readOnlyRootFilesystem") is True,
        "no capability at all": "add" not in own["capabilities"],
        "a memory limit": "memory" in container["resources"].get("limits", {}),
        "no CPU limit": "cpu" not in container["resources"].get("limits", {}),
        "bounded scratch space": all("sizeLimit" in each.get("emptyDir", {"sizeLimit": 0}) for each in spec["volumes"]),
        "no environment of other Services": spec.get("enableServiceLinks") is False,
    }
    return [wish for wish, is_met in wanted.items() if not is_met]
