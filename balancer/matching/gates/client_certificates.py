"""Lets clients in by the certificates of their handshakes, and tells endpoints about them. No I/O.

A handshake counts for the host alone for which it was made, and only while what it asked for is still asked for. So the
certificate of one host never opens another (nginx: 421).
"""

from __future__ import annotations

from itertools import product
from urllib.parse import quote

from balancer.errors import ErrorKind
from balancer.http.messages import Field
from balancer.http.proofs import ClientProof
from balancer.matching.gates.verdicts import About, Asked, Deny, Go, Reply, Resume
from balancer.matching.regexes import Pattern, compile_pattern
from balancer.model.client_tls import ClientCertificates, ClientVerification

# X509_V_ERR_*: self-signed, self-signed in the chain, no local issuer, leaf not verified. nginx lets these pass under
# `optional_no_ca` (ngx_ssl_verify_error_optional).
_OF_UNKNOWN_AUTHORITY = frozenset({18, 19, 20, 21})

_NAMES = ("ssl-client-verify", "ssl-client-subject-dn", "ssl-client-issuer-dn", "ssl-client-cert")
_MISDIRECTED = Deny(ErrorKind.MISDIRECTED)
_DENIED = Deny(ErrorKind.CERTIFICATE_DENIED)


def _spellings(name: str) -> set[bytes]:
    """The name with `-` and `_` in each place, because many endpoints take both for the same."""
    parts = name.split("-")
    gaps = product("-_", repeat=len(parts) - 1)
    return {"".join(part + gap for part, gap in zip(parts, (*each, ""), strict=True)).encode() for each in gaps}


_WITHHELD = frozenset(spelling for name in _NAMES for spelling in _spellings(name))
"""Fields that only this gate may send to an endpoint."""


class ClientCertificateGate:
    """The gate of one route."""

    __slots__ = ("_pattern", "_refusal", "_rule")

    def __init__(self, rule: ClientCertificates) -> None:
        """Raises `PatternError` for a pattern that the translation should have refused."""
        self._rule = rule
        self._pattern: Pattern | None = (
            compile_pattern(f"^(?:{rule.subject_pattern})") if rule.subject_pattern else None
        )
        self._refusal: Deny | Reply = Deny(ErrorKind.CERTIFICATE_REFUSED)
        if rule.error_page:
            location = (b"Location", rule.error_page.encode("ascii"))
            self._refusal = Reply(302, (location,), kind=ErrorKind.CERTIFICATE_REFUSED)

    def describe(self) -> About:
        """Which certificates are demanded."""
        demand = self._rule.demand
        return About(
            (f"Client certificates: {demand.verification.value}, by the authority in Secret {demand.authority}.",)
        )

    def judge(self, asked: Asked, resume: Resume) -> Go | Deny | Reply:
        """The verdict, always at once."""
        rule, demand = self._rule, self._rule.demand
        asks = demand.verification is not ClientVerification.OFF
        proof = None
        if asked.secure and asks:
            proof = asked.origin.proof
            if proof is None or not _is_for(proof, rule, asked.request.host_name):
                return _MISDIRECTED
        if rule.serves_plain and not asked.secure:
            return self._go(None)
        if proof is None or not proof.pem:
            if demand.verification is ClientVerification.ON:
                return self._refusal
        elif not self._verifies(proof):
            return self._refusal
        if self._pattern is not None and not _matches(self._pattern, proof.subject if proof is not None else ""):
            return _DENIED
        return self._go(proof)

    def _verifies(self, proof: ClientProof) -> bool:
        """Whether the certificate that was shown may pass."""
        if self._rule.demand.verification is ClientVerification.ANY:
            return True
        if self._rule.demand.verification is ClientVerification.OPTIONAL_NO_CA:
            return _OF_UNKNOWN_AUTHORITY.issuperset(proof.errors)
        return not proof.errors

    def _go(self, proof: ClientProof | None) -> Go:
        """Lets the request pass. The endpoint gets the `ssl-client-*` fields of nginx, never those of the client."""
        if proof is None or not proof.pem:
            return Go(((b"ssl-client-verify", b"NONE"),), _WITHHELD)
        verify = f"FAILED:{proof.reason}" if proof.errors else "SUCCESS"
        told: list[Field] = [(b"ssl-client-verify", verify.encode("ascii", "replace"))]
        if self._rule.passes_certificate:
            told.append((b"ssl-client-cert", quote(proof.pem, safe="").encode()))
        for name, value in ((b"ssl-client-subject-dn", proof.subject), (b"ssl-client-issuer-dn", proof.issuer)):
            if value:
                told.append((name, value.encode("ascii", "replace")))
        return Go(tuple(told), _WITHHELD)


def _is_for(proof: ClientProof, rule: ClientCertificates, host_name: bytes) -> bool:
    """Whether a handshake was made for the host of `rule` as it is now.

    As in nginx the name of the handshake must be that of the request, although one wildcard may cover both. Only for
    the host without a name any name will do.
    """
    return proof.demand == rule.demand and (not rule.demand.host or proof.server_name == host_name)


def _matches(pattern: Pattern, subject: str) -> bool:
    """Whether one of the names in a subject begins with what `pattern` matches.

    nginx searches the whole text, so a value of another attribute would do there. A subject that is too long to be
    searched from each of its attributes on does not match.
    """
    starts = _starts(subject)
    if not pattern.affords(len(starts) * len(subject.encode())):
        return False
    return any(pattern.search(subject[start:].encode()) for start in starts)


def _starts(subject: str) -> list[int]:
    """Where the attributes of a distinguished name begin (RFC 4514)."""
    starts, is_escaped = [0], False
    for place, char in enumerate(subject):
        if is_escaped:
            is_escaped = False
        elif char == "\\":
            is_escaped = True
        elif char in ",+":
            starts.append(place + 1)
    return starts
