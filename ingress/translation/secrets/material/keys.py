"""Judges keys from their DER, before a library of cryptography reads them.

A key passes if what one use of it costs is known from its kind and size. All numbers of an RSA key have to fit each
other, because wrong ones cost as much as their sizes allow: OpenSSL takes exponents of millions of bits. These
equations and a signature (`ingress.translation.secrets.key_pairs`) take the place of OpenSSL's own check, which
proves that both factors are prime and takes 60 ms for RSA 2048, 370 ms for RSA 4096. Factors that are not prime cost
nobody more. Factors of different sizes would: up to eighteen times as much.
"""

from __future__ import annotations

from ingress.settings.table.tls_keys import KeyBounds
from ingress.translation.secrets.material.bounds import (
    EXPONENT_BITS_MOST,
    KEY_BYTES,
    KEY_TEXT_BYTES,
    RSA_BITS_LEAST,
    UnusableMaterial,
)
from ingress.translation.secrets.material.der import (
    BIT_STRING,
    INTEGER,
    OBJECT,
    OCTET_STRING,
    SEQUENCE,
    MalformedDer,
    Value,
    integer,
    members,
    only,
)
from ingress.translation.secrets.material.pem import Block, MalformedPem, blocks

_RSA, _RSA_PSS = bytes.fromhex("2a864886f70d010101"), bytes.fromhex("2a864886f70d01010a")
_EC = bytes.fromhex("2a8648ce3d0201")
_EDWARDS = {bytes.fromhex("2b6570"): 32, bytes.fromhex("2b6571"): 57}  # Ed25519, Ed448: bytes of either key (RFC 8032)
_CURVES = frozenset(map(bytes.fromhex, ("2a8648ce3d030107", "2b81040022", "2b81040023")))  # P-256, P-384, P-521
_POINT_BYTES_MOST = 133  # two coordinates of P-521 and one byte
_SCALAR_BYTES_MOST = 66
_EC_PARAMETERS = 0xA0
_RSA_NUMBERS = 9
_FACTORS_APART_BITS = 16  # those of honest keys have as many bits each (FIPS 186-5 A.1.1)
_KINDS = "RSA, P-256, P-384, P-521, Ed25519 or Ed448"
_LABELS = frozenset(("PRIVATE KEY", "RSA PRIVATE KEY", "EC PRIVATE KEY"))
_DOES_NOT_PARSE = "holds a certificate or key that does not parse"


def read_private_key(text: bytes, bounds: KeyBounds) -> Block:
    """The first private key of a text, if its kind, its size and all its numbers keep to `bounds`.

    Raises `UnusableMaterial`.
    """
    if len(text) > KEY_TEXT_BYTES:
        raise UnusableMaterial(f"holds a private key of more than {KEY_TEXT_BYTES // 1024} KiB")
    try:
        block = next((each for each in blocks(text) if each.label in _LABELS), None)
        if block is None:
            raise MalformedDer("no key")
        if len(block.der) > KEY_BYTES:
            raise UnusableMaterial(f"holds a private key of more than {KEY_BYTES // 1024} KiB in DER")
        _check_private(block, bounds)
    except (MalformedDer, MalformedPem):
        raise UnusableMaterial(_DOES_NOT_PARSE) from None
    return block


def check_public_key(info: bytes, *, rsa_bits_least: int = 0, rsa_bits_most: int) -> None:
    """Raises `UnusableMaterial` unless a public key is of a kind and size that may be used. Raises `MalformedDer`.

    `info` is the content of a SubjectPublicKeyInfo (RFC 5280 4.1).
    """
    algorithm, key, *_ = _expected(members(info), SEQUENCE, BIT_STRING)
    kind, parameters = _kind_of(algorithm)
    if key[:1] != b"\0":
        raise MalformedDer("no whole bytes")
    if kind in {_RSA, _RSA_PSS}:
        numbers = members(only(key[1:], SEQUENCE))
        if len(numbers) != 2:
            raise MalformedDer("no RSA key")
        _check_modulus(numbers[0], rsa_bits_least, rsa_bits_most)
        _exponent(numbers[1])
    elif kind == _EC:
        _check_curve(parameters)
        if len(key) - 1 > _POINT_BYTES_MOST:
            raise MalformedDer("no point")
    elif kind not in _EDWARDS:
        raise _unknown_kind()
    elif len(key) - 1 != _EDWARDS[kind]:
        raise MalformedDer("no point")


def _check_private(block: Block, bounds: KeyBounds) -> None:
    content = only(block.der, SEQUENCE)
    if block.label == "RSA PRIVATE KEY":
        _check_rsa(content, bounds)
    elif block.label == "EC PRIVATE KEY":
        _check_ec(content, None)
    else:
        # PKCS #8 (RFC 5958 2): a version, the kind, the key, and perhaps attributes and the public key.
        _, algorithm, key, *_ = _expected(members(content), None, SEQUENCE, OCTET_STRING)
        kind, parameters = _kind_of(algorithm)
        if kind == _RSA:
            _check_rsa(only(key, SEQUENCE), bounds)
        elif kind == _EC:
            _check_curve(parameters)
            _check_ec(only(key, SEQUENCE), parameters)
        elif kind not in _EDWARDS:
            raise _unknown_kind()
        elif len(only(key, OCTET_STRING)) != _EDWARDS[kind]:
            raise MalformedDer("no key of its curve")


def _check_rsa(content: bytes, bounds: KeyBounds) -> None:
    """Checks the numbers of a key with two factors (RFC 8017 A.1.2) against the bounds and against each other."""
    values = members(content)
    if len(values) != _RSA_NUMBERS or integer(values[0], 8) != 0:
        raise MalformedDer("no key of two factors")
    bits = _check_modulus(values[1], RSA_BITS_LEAST, bounds.rsa_bits_most)
    public = _exponent(values[2])
    try:
        modulus, private, one, other, at_one, at_other, inverse = (
            integer(each, bits) for each in (values[1], *values[3:])
        )
    except MalformedDer:
        raise UnusableMaterial("holds an RSA key with a number that is larger than its modulus") from None
    fit = (
        min(one, other) > 2
        and one * other == modulus
        and private < modulus
        and at_one == private % (one - 1)
        and at_other == private % (other - 1)
        and public * at_one % (one - 1) == 1
        and public * at_other % (other - 1) == 1
        and inverse < one
        and inverse * other % one == 1
    )
    if not fit:
        raise UnusableMaterial("holds an RSA key whose numbers do not fit each other")
    if abs(one.bit_length() - other.bit_length()) > _FACTORS_APART_BITS:
        raise UnusableMaterial("holds an RSA key whose factors differ in size")


def _check_modulus(value: Value, least: int, most: int) -> int:
    """The bits of a modulus, if they are not too few and not too many."""
    try:
        modulus = integer(value, most)
    except MalformedDer:
        if len(value.content) > most // 8 + 1:
            raise UnusableMaterial(_too_large(most)) from None
        raise
    bits = modulus.bit_length()
    if bits < least:
        raise UnusableMaterial(f"holds an RSA key of less than {least} bits")
    if bits > most:
        raise UnusableMaterial(_too_large(most))
    if modulus % 2 == 0:
        raise UnusableMaterial("holds an RSA key with an even modulus")
    return bits


def _too_large(most: int) -> str:
    return f"holds an RSA key of more than {most} bits (max-rsa-key-bits)"


def _exponent(value: Value) -> int:
    """A public exponent, if it is odd and small."""
    if value.tag == INTEGER and len(value.content) > EXPONENT_BITS_MOST // 8 + 1:
        exponent = 0
    else:
        exponent = integer(value, EXPONENT_BITS_MOST)
    if exponent < 3 or exponent % 2 == 0 or exponent.bit_length() > EXPONENT_BITS_MOST:
        raise UnusableMaterial(
            f"holds an RSA key whose public exponent is even, 1 or of more than {EXPONENT_BITS_MOST} bits"
        )
    return exponent


def _check_ec(content: bytes, parameters: Value | None) -> None:
    """Checks a private key on a curve (RFC 5915). `parameters` are what was said about its curve outside of it."""
    values = members(content)
    _, scalar = _expected(values, None, OCTET_STRING)[:2]
    if len(scalar) > _SCALAR_BYTES_MOST:
        raise MalformedDer("too large a number")
    inside = next((each.content for each in values if each.tag == _EC_PARAMETERS), None)
    if inside is not None:
        (named,) = members(inside)[:1] or (None,)
        _check_curve(named)
        if parameters is not None and named != parameters:
            raise MalformedDer("two curves")
    elif parameters is None:
        raise MalformedDer("no curve")


def _check_curve(parameters: Value | None) -> None:
    """A curve that is written out and not named may be of any size."""
    if parameters is None or parameters.tag != OBJECT or parameters.content not in _CURVES:
        raise _unknown_kind()


def _kind_of(algorithm: bytes) -> tuple[bytes, Value | None]:
    """The kind of a key, and what else is said about it (AlgorithmIdentifier, RFC 5280 4.1.1.2)."""
    values = members(algorithm)
    (kind,) = _expected(values, OBJECT)[:1]
    return kind, values[1] if len(values) > 1 else None


def _expected(values: list[Value], *tags: int | None) -> list[bytes]:
    """The contents of values, the first of which must have these tags; None: any tag."""
    if len(values) < len(tags):
        raise MalformedDer("too few values")
    for value, tag in zip(values, tags, strict=False):
        if tag is not None and value.tag != tag:
            raise MalformedDer("another value than expected")
    return [value.content for value in values]


def _unknown_kind() -> UnusableMaterial:
    return UnusableMaterial(f"holds a key that is none of {_KINDS}")
