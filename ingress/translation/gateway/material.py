"""Whether Secrets and ConfigMaps that objects of Gateway API name hold what is needed. Shows nothing of them."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import sha256

from ingress.settings.table.tls_keys import KeyBounds
from ingress.sources.inventory import Inventory
from ingress.translation.secrets.material.bounds import UnusableMaterial
from ingress.translation.secrets.materials import Materials

AUTHORITY_ENTRY = "ca.crt"
"""The entry of a ConfigMap that holds certificates of authorities (core support of caCertificateRefs)."""


class GatewayMaterial:
    """Reads by name, and remembers by content what was read (`Materials`)."""

    __slots__ = ("_inventory", "_materials")

    def __init__(self, inventory: Inventory, materials: Materials) -> None:
        self._inventory = inventory
        self._materials = materials

    @property
    def bounds(self) -> KeyBounds:
        """What decides which keys can be used."""
        return self._materials.bounds

    def seen_in(self, inventory: Inventory) -> GatewayMaterial:
        """Material that is read from the objects of `inventory`, with what is remembered here."""
        return GatewayMaterial(inventory, self._materials)

    def certificate_problem(self, key: str) -> str:
        """Why the Secret `namespace/name` holds no certificate with its key, as the end of a sentence; else empty."""
        namespace, _, name = key.partition("/")
        secret = self._inventory.secret(namespace, name)
        if secret is None:
            return self._inventory.why_no_secret(namespace, name)
        try:
            self._materials.pair(secret.value("tls.crt"), secret.value("tls.key"))
        except UnusableMaterial as problem:
            return f"{problem}: give it a matching tls.crt and tls.key."
        return ""

    def digest(self, names: Iterable[tuple[str, str]]) -> str:
        """What stands for the authorities in these ConfigMaps: others have another one."""
        held = (self._inventory.config_map(*each) for each in names)
        texts = (each.data.get(AUTHORITY_ENTRY, "") for each in held if each is not None)
        return sha256("\0".join(texts).encode("utf-8", "replace")).hexdigest()

    def authority_problem(self, namespace: str, name: str) -> str:
        """Why the ConfigMap holds no certificates of authorities, as the end of a sentence; else empty."""
        found = self._inventory.config_map(namespace, name)
        if found is None:
            return "does not exist: create it."
        text = found.data.get(AUTHORITY_ENTRY, "")
        if not text:
            return f"has no {AUTHORITY_ENTRY}: add it."
        try:
            self._materials.authority(text.encode("utf-8", "replace"))
        except UnusableMaterial as problem:
            return f"has a {AUTHORITY_ENTRY} that cannot be used, because it {problem}: correct it."
        return ""
