"""The bounds of certificates and keys that tenants hand in: what no handshake may have to do, send or hold.

It must not know how anything is parsed.
"""

from __future__ import annotations

RSA_BITS_LEAST = 2048
"""Clients and OpenSSL's security level 2 refuse smaller keys (NIST SP 800-131A)."""
EXPONENT_BITS_MOST = 64
"""OpenSSL refuses larger public exponents beside a modulus of more than 3,072 bits, because they cost too much."""
KEY_TEXT_BYTES, KEY_BYTES = 32 * 1024, 16 * 1024
"""Of a private key as PEM and as DER. A key of RSA 16384 has 9,300 bytes in DER."""
CHAIN_TEXT_BYTES, CHAIN_BYTES, CHAIN_LENGTH = 128 * 1024, 64 * 1024, 10
"""Of a chain, as PEM and as DER, and how many certificates it may have. Every handshake sends the whole chain."""
AUTHORITY_TEXT_BYTES, AUTHORITY_BYTES = 256 * 1024, 16 * 1024
"""Of all authorities of a Secret as PEM, and of one of them as DER. All roots that browsers trust have 220 KB."""
AUTHORITY_NAMES_BYTES = 32 * 1024
"""Of the names of all authorities of clients. Every handshake that asks for a certificate sends these names."""
AUTHORITY_RSA_BITS = 8192
"""An authority's key only verifies, which is cheap, and some organisations have a root of this size."""
REVOCATION_TEXT_BYTES, REVOCATION_LISTS = 1024 * 1024, 100
"""Of all revocation lists of a Secret as PEM, and how many there may be."""
AUTHORITIES_TOGETHER_BYTES = 16 * 1024 * 1024
"""Of all authorities of clients with their revocation lists as PEM. A worker takes at most eight times as much."""


class UnusableMaterial(Exception):
    """A certificate or key cannot be used. The text says why, and nothing of its contents."""
