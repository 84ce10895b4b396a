"""What handshakes that ask clients for certificates trust: an authority with its revocation lists, in OpenSSL's form.

It is read once for all contexts that use it, because a list of 1 MiB takes tens of milliseconds and several times its
size. Reading may be done in any thread, and leaves the interpreter to others for most of its time. Contexts outlive
changes as long as a connection lives, so what is retired leaves them. Knows no host.
"""

from __future__ import annotations

import ssl
import weakref
from binascii import a2b_base64
from collections.abc import Callable
from itertools import count

from cryptography import x509
from OpenSSL import SSL, crypto
from OpenSSL._util import ffi, lib  # pyOpenSSL itself has no way to share a store, and none to read a list apart

from balancer.model.certificates import Authority

_BEGIN, _END = b"-----BEGIN X509 CRL-----", b"-----END X509 CRL-----"
RunApart = Callable[[Callable[[], None]], object]
"""Calls something where it does not hold the event loop."""

_FLAGS = crypto.X509StoreFlags.CRL_CHECK | crypto.X509StoreFlags.CRL_CHECK_ALL


class Trust:
    """The store of one authority, and the contexts that share it.

    `names_bytes` is the size of the names that handshakes send to clients.
    """

    __slots__ = ("_contexts", "_numbers", "_roots", "_run_apart", "_stores", "_under_way", "names_bytes")

    def __init__(self, store: crypto.X509Store, roots: tuple[crypto.X509, ...], names_bytes: int) -> None:
        self._stores = [store]
        self._roots = roots
        self.names_bytes = names_bytes
        self._contexts: weakref.WeakSet[SSL.Context] = weakref.WeakSet()
        self._under_way: set[int] = set()
        self._numbers = count()
        self._run_apart: RunApart | None = None

    @classmethod
    def read(cls, authority: Authority) -> Trust:
        """Reads the texts of `authority`. Raises ssl.SSLError."""
        try:
            found = x509.load_pem_x509_certificates(authority.ca_pem)
            roots = tuple(map(crypto.X509.from_cryptography, found))
            store = crypto.X509Store()
            for each in roots:
                store.add_cert(each)
            add_lists(store, authority.crl_pem)
        except (crypto.Error, ValueError) as error:
            raise ssl.SSLError(f"authority {authority.key} cannot be read: {type(error).__name__}") from None
        return cls(store, roots, sum(len(each.subject.public_bytes()) for each in found))

    def give_to(self, context: SSL.Context) -> None:
        """Makes a new `context` trust this, and name these authorities to clients."""
        (store,) = self._stores
        lib.X509_STORE_up_ref(store._store)  # the context frees what it is given
        lib.SSL_CTX_set_cert_store(context._context, store._store)
        for each in self._roots:
            lib.SSL_CTX_add_client_CA(context._context, each._x509)
        self._contexts.add(context)

    def handshake_begins(self, session: object) -> weakref.finalize[..., object]:
        """Notes a handshake. What is returned has to be called at its end; the end of `session` calls it, too."""
        number = next(self._numbers)
        self._under_way.add(number)
        over = weakref.finalize(session, self._handshake_ends, number)
        over.atexit = False
        return over

    def _handshake_ends(self, number: int) -> None:
        self._under_way.discard(number)
        self._leave()

    def retire(self, run_apart: RunApart) -> None:
        """Takes the store from its contexts as soon as no handshake is under way that has begun with it.

        `run_apart` runs what takes milliseconds: the store is freed there. No handshake may begin from now on.
        """
        self._run_apart = run_apart
        self._leave()

    def _leave(self) -> None:
        if self._run_apart is None or self._under_way:
            return
        for context in self._contexts:
            lib.SSL_CTX_set_cert_store(context._context, lib.X509_STORE_new())
            lib.SSL_CTX_set_client_CA_list(context._context, lib.sk_X509_NAME_new_null())
        self._contexts.clear()
        self._run_apart(self._stores.clear)


def add_lists(store: crypto.X509Store, pem: bytes) -> int:
    """Adds every revocation list in a text to `store`, which then demands one of every authority. Returns how many.

    Raises ValueError for what is no list.
    """
    parts = pem.split(_END)
    for part in parts[:-1]:
        _, begin, text = part.partition(_BEGIN)
        der = a2b_base64(text) if begin else b""
        source = ffi.gc(lib.BIO_new_mem_buf(ffi.from_buffer(der), len(der)), lib.BIO_free)
        found = ffi.gc(lib.d2i_X509_CRL_bio(source, ffi.NULL), lib.X509_CRL_free)
        if found == ffi.NULL or lib.X509_STORE_add_crl(store._store, found) != 1:
            lib.ERR_clear_error()
            raise ValueError("not a revocation list")
    if len(parts) > 1:
        store.set_flags(_FLAGS)
    return len(parts) - 1
