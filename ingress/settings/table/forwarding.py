"""Options about the proxies in front of zonal: which of them may say who the client is.

Source: ingress-nginx v1.15.1, ConfigMap. By default no proxy is believed. It must not know how a chain of addresses
is read.
"""

from __future__ import annotations

import re

import msgspec

from balancer.model.settings import TrustedProxies
from ingress.findings import Report, Severity
from ingress.settings.table.option import Overrides, cluster_option, cluster_switch
from ingress.settings.table.source_ranges import networks
from ingress.settings.unsupported import closing
from ingress.settings.values import matching

# No name with `_`: clients cannot send one by default. nginx takes `proxy_protocol` for the PROXY header.
_FIELD = re.compile(r"(?:[!#$%&'*+.^`|~0-9A-Za-z-]{1,64}|proxy_protocol)?")
_NO_FIELD = "proxy_protocol"
_FORWARDED_FOR = "x-forwarded-for"
_EVERYBODY = ("0.0.0.0/0",)

_OTHER_CLIENT = closing(Severity.UNPROTECTED, "source ranges and limits see other addresses than meant")


class ForwardingSettings(msgspec.Struct, frozen=True):
    """What the ConfigMap says about proxies in front. An empty text for `field` or `networks` means the default."""

    believes_all: bool = False
    believes_address: bool = False
    field: str = _FORWARDED_FOR
    appends: bool = False
    networks: tuple[str, ...] = _EVERYBODY

    def trusted(self, *, proxy_protocol: bool) -> TrustedProxies | None:
        """Which proxies are believed, and which of their fields; None: no proxy.

        With `proxy_protocol` on, the address is that of the PROXY header unless all fields are believed (nginx.tmpl,
        `real_ip_header proxy_protocol`).
        """
        if not self.believes_all and not self.believes_address:
            return None
        reads_field = self.field != _NO_FIELD and (self.believes_all or not proxy_protocol)
        return TrustedProxies(
            networks=self.networks or _EVERYBODY,
            address_field=(self.field or _FORWARDED_FOR) if reads_field else "",
            believes_all=self.believes_all,
            appends=self.appends and self.believes_all,
        )


def check_forwarding(overrides: Overrides, report: Report) -> None:
    """Reports that every client is believed. This is the default of ingress-nginx and rarely intended."""
    trusted = overrides.over(ForwardingSettings()).trusted(proxy_protocol=False)
    if trusted is not None and any(network.endswith("/0") for network in trusted.networks):
        report.add(
            reason="TrustsEverybody",
            message="use-forwarded-headers or enable-real-ip believes everybody: name the networks of the proxies in"
            " front of zonal in proxy-real-ip-cidr.",
            effect="Every client can choose the address that source ranges, limits and logs see.",
            severity=Severity.UNPROTECTED,
        )


FORWARDING_OPTIONS = (
    cluster_switch(
        name="use-forwarded-headers",
        fills=(ForwardingSettings, "believes_all"),
        doc='`"true"`: proxies in `proxy-real-ip-cidr` are believed about the client. Its address is the last one in'
        " `forwarded-for-header` that is not a trusted proxy itself. `X-Forwarded-Proto`, `-Port` and `-Host` count as"
        " well, but only from these proxies (ingress-nginx takes these three from anybody)",
    ),
    cluster_switch(
        name="enable-real-ip",
        fills=(ForwardingSettings, "believes_address"),
        doc='`"true"`: the same for the address alone. With `use-proxy-protocol` the PROXY header says the address',
    ),
    cluster_option(
        name="proxy-real-ip-cidr",
        fills=(ForwardingSettings, "networks"),
        grammar=networks,
        default="0.0.0.0/0",
        doc="comma list of the addresses and networks of trusted proxies. **Set it** with one of the two options above:"
        " the default believes every IPv4 client, as in ingress-nginx, and is a finding. A list that cannot be read, or"
        " that holds host names, closes every path",
        if_invalid=_OTHER_CLIENT,
    ),
    cluster_option(
        name="forwarded-for-header",
        fills=(ForwardingSettings, "field"),
        grammar=lambda text: matching(_FIELD, "use the name of a header field, without _")(text).lower(),
        default="X-Forwarded-For",
        doc="the field that lists addresses. A name that cannot be read closes every path",
        if_invalid=_OTHER_CLIENT,
    ),
    cluster_switch(
        name="compute-full-forwarded-for",
        fills=(ForwardingSettings, "appends"),
        doc='with `use-forwarded-headers`, `"true"`: endpoints get in `X-Forwarded-For` what a trusted proxy sent, and'
        " the address of that proxy appended; otherwise the address of the client alone",
    ),
)
