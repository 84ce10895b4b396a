"""Finds the ConfigMaps whose data are header fields of the whole cluster: those of `add-headers`, `proxy-set-headers`.

Responsible for what is reported if such a ConfigMap is missing or too long. It must not know what the fields mean.
"""

from __future__ import annotations

from collections.abc import Mapping

from ingress.findings import Findings, Severity, Subject
from ingress.objects.kinds import Kind
from ingress.sources.inventory import Inventory

_FIELDS_MOST = 50  # all of them go with every message


def field_map(
    key: tuple[str, str], *, option: str, effect: str, inventory: Inventory, findings: Findings
) -> Mapping[str, str]:
    """The data of the ConfigMap with the key `namespace, name` that `option` names; nothing if that cannot be used.

    A missing ConfigMap is not reported if its source has told why it cannot be read. `effect` is what follows.
    """
    config_map, subject = inventory.config_map(*key), Subject(Kind.CONFIG_MAP.value, *key)
    if config_map is None:
        if any((said.kind, said.namespace, said.name) == (subject.kind, *key) for said in inventory.findings):
            return {}
        reason = "ConfigMapMissing"
        message = f"{option} names this ConfigMap, and there is none: create it, or correct {option}."
    elif len(config_map.data) > _FIELDS_MOST:
        reason = "InvalidValue"
        message = f"There are {len(config_map.data)} fields: use at most {_FIELDS_MOST}."
    else:
        return config_map.data
    findings.add(subject, reason=reason, message=message, effect=effect, severity=Severity.UNPROTECTED)
    return {}
