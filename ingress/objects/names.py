"""Defines Kubernetes' grammars of names.

The regular expressions of apimachinery's validation, written once. They run in linear time on the bounded lengths that
they accept. Does not know which field holds which kind of name.
"""

from __future__ import annotations

import re

_LABEL = r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?"

SUBDOMAIN = re.compile(rf"(?=.{{1,253}}\Z){_LABEL}(?:\.{_LABEL})*")
"""DNS-1123 subdomain: names of most objects, host names."""

WILDCARD_SUBDOMAIN = re.compile(rf"(?=.{{1,253}}\Z)\*\.{_LABEL}(?:\.{_LABEL})*")
"""A subdomain whose first label is `*`."""

HOST = re.compile(rf"(?=.{{1,253}}\Z)(?!.*[a-z0-9-]{{64}}){_LABEL}(?:\.{_LABEL})*")
"""The name of a host that DNS can look up (RFC 1123 2.1): a subdomain whose labels have up to 63 characters."""

LABEL = re.compile(rf"(?=.{{1,63}}\Z){_LABEL}")
"""DNS-1123 label: namespaces and Services (KEP-5311 relaxed Service names from DNS-1035 to this)."""

PORT_NAME = re.compile(r"(?=.{1,15}\Z)(?=.*[a-z])(?!.*--)[a-z0-9](?:[-a-z0-9]*[a-z0-9])?")
"""IANA service name (RFC 6335 section 5.1): names of container and Service ports in an Ingress."""

LABEL_VALUE = re.compile(r"[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")
"""The value of a label, not empty: zones."""


def covering(host: str) -> tuple[str, ...]:
    """The names in a TLS section or certificate that cover a host: itself, then a wildcard for its first label.

    RFC 9525 section 6.3: the wildcard stands for one whole label.
    """
    _, dot, parent = host.partition(".")
    return (host, "*." + parent) if dot else (host,)


def is_host(name: str) -> bool:
    """Whether a name can be that of a host: a DNS name, or one below a wildcard."""
    return bool(SUBDOMAIN.fullmatch(name) or WILDCARD_SUBDOMAIN.fullmatch(name))
