"""Certificates and certificate authorities in the model. Each is keyed by `namespace/name` of its Secret."""

from __future__ import annotations

from typing import Annotated

import msgspec

from balancer.model.secrecy import SECRET


class Certificate(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """A certificate chain and its private key, PEM. `key` is `namespace/name` of the Secret."""

    key: str
    chain_pem: Annotated[bytes, SECRET]
    private_key_pem: Annotated[bytes, SECRET]
    expires_at_epoch_seconds: float

    def __repr__(self) -> str:
        return f"Certificate(key={self.key!r}, expires_at_epoch_seconds={self.expires_at_epoch_seconds!r})"


class Authority(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """The roots that verify endpoints or clients: one or more certificates, PEM.

    `crl_pem` are lists of certificates that do not count any more, for clients only. `key` is `namespace/name` of the
    Secret.
    """

    key: str
    ca_pem: Annotated[bytes, SECRET]
    crl_pem: Annotated[bytes, SECRET] = b""

    def __repr__(self) -> str:
        return f"Authority(key={self.key!r})"


class ClientCertificate(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """A certificate chain that endpoints are shown, and its private key, PEM. `key` is `namespace/name` of the Secret.

    No client of the proxy is ever shown it, so it is kept apart from each `Certificate`.
    """

    key: str
    chain_pem: Annotated[bytes, SECRET]
    private_key_pem: Annotated[bytes, SECRET]

    def __repr__(self) -> str:
        return f"ClientCertificate(key={self.key!r})"
