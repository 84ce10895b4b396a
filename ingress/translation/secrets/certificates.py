"""Reads certificates: from a TLS Secret to a chain and its key.

Refuses what could not be served: a broken certificate is a finding, and the host goes without it. No finding shows
anything of a Secret. Does not know which host gets which certificate.
"""

from __future__ import annotations

from collections.abc import Collection

import msgspec

from balancer.model.certificates import Certificate
from ingress.findings import Report, Severity
from ingress.objects.kinds import Secret
from ingress.objects.names import covering
from ingress.settings.table.tls_keys import KeyBounds
from ingress.sources.inventory import Inventory
from ingress.translation.secrets.material.bounds import UnusableMaterial
from ingress.translation.secrets.materials import Materials
from ingress.translation.secrets.secret_turns import SecretTurns


class ReadCertificate(msgspec.Struct, frozen=True):
    """A Secret that was read under these bounds: its certificate and DNS names, or its problem.

    With both a certificate and a problem, the certificate is the last good one of that Secret.
    """

    secret: Secret
    bounds: KeyBounds
    certificate: Certificate | None = None
    names: frozenset[str] = frozenset()
    problem: str = ""


class CertificateShelf:
    """The certificates of the last translation, because parsing thousands for each endpoint change is too slow.

    Holds only those that the last translation used, so that a key leaves memory with its last reference. `materials`
    is what reads the texts, and `materials.begin` is called before the first certificate of a translation is read.
    """

    __slots__ = ("_read", "materials", "turns")

    def __init__(self) -> None:
        self._read: dict[str, ReadCertificate] = {}
        self.turns = SecretTurns()
        self.materials = Materials()

    def read(self, key: str, secret: Secret) -> ReadCertificate:
        """The certificate in `secret`, parsed only if the Secret or the bounds of keys have changed.

        If it is broken, the last good one that was read under the same bounds.
        """
        held = self._read.get(key)
        if held is not None and held.bounds != self.materials.bounds:
            held = None
        if held is None or not _holds_same(held.secret, secret):
            last_good, held = held, _read(key, secret, self.materials)
            if held.problem and last_good is not None and last_good.certificate is not None:
                held = msgspec.structs.replace(last_good, secret=secret, problem=held.problem)
            self._read[key] = held
        return held

    def forget(self, key: str) -> None:
        """Drops the certificate of a Secret that is gone."""
        self._read.pop(key, None)

    def keep(self, keys: Collection[str]) -> None:
        """Drops every certificate but these."""
        for key in self._read.keys() - set(keys):
            del self._read[key]


class Certificates:
    """The certificates that hosts have asked for during one translation."""

    __slots__ = ("_asked", "_inventory", "_now_epoch_seconds", "_shelf", "_used")

    def __init__(self, inventory: Inventory, shelf: CertificateShelf, *, now_epoch_seconds: float = 0.0) -> None:
        """`now_epoch_seconds` decides which certificates have expired; 0 means none."""
        self._inventory = inventory
        self._now_epoch_seconds = now_epoch_seconds
        self._shelf = shelf
        self._asked: set[str] = set()
        self._used: dict[str, Certificate] = {}

    def resolve(self, key: str, host: str, *, report: Report) -> str | None:
        """`key` (`namespace/name`) if the certificate in that Secret serves `host`; else None and a finding.

        An empty host accepts every certificate.
        """
        read = self._find(key)
        if read is None:
            problem, _, repair = self._inventory.why_no_secret(*key.split("/")).rstrip(".").partition(": ")
            _note(key, problem, report=report, repair=repair)
            return None
        if read.certificate is None:
            _note(key, read.problem, report=report)
            return None
        if host and read.names.isdisjoint(covering(host)):
            _note(key, f"holds a certificate that is not for {host}", report=report)
            return None
        if read.problem:
            _note(key, read.problem, report=report, effect="The last certificate that could be read is used.")
        if read.certificate.expires_at_epoch_seconds < self._now_epoch_seconds:
            _note(
                key,
                "holds a certificate that has expired",
                report=report,
                repair="renew it",
                effect="The certificate is used, and clients refuse it.",
            )
        self._used[key] = read.certificate
        return key

    @property
    def materials(self) -> Materials:
        """What remembers certificates and keys that were read before."""
        return self._shelf.materials

    def used(self) -> tuple[Certificate, ...]:
        """Every usable certificate that was asked for, by key. The shelf drops the others."""
        self._shelf.keep(self._asked)
        return tuple(self._used[key] for key in sorted(self._used))

    def _find(self, key: str) -> ReadCertificate | None:
        namespace, _, name = key.partition("/")
        secret = self._inventory.secret(namespace, name)
        self._asked.add(key)
        if secret is None:
            self._shelf.forget(key)
            return None
        return self._shelf.read(key, secret)


def _holds_same(one: Secret, other: Secret) -> bool:
    return (one.data, one.string_data) == (other.data, other.string_data)


def _note(
    key: str,
    problem: str,
    *,
    report: Report,
    repair: str = "give it a matching tls.crt and tls.key",
    effect: str = "The default certificate is used.",
) -> None:
    report.add(
        reason="CertificateUnusable",
        message=f"Secret {key} {problem}: {repair}.",
        severity=Severity.DEGRADED,
        effect=effect,
    )


def _read(key: str, secret: Secret, materials: Materials) -> ReadCertificate:
    try:
        pair = materials.pair(secret.value("tls.crt"), secret.value("tls.key"))
    except UnusableMaterial as problem:
        return ReadCertificate(secret, materials.bounds, problem=str(problem))
    certificate = Certificate(
        key=key,
        chain_pem=pair.chain_pem,
        private_key_pem=pair.private_key_pem,
        expires_at_epoch_seconds=pair.expires_at_epoch_seconds,
    )
    return ReadCertificate(secret, materials.bounds, certificate=certificate, names=pair.names)
