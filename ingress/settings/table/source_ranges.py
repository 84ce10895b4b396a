"""Options about source ranges: how lists of networks are written, and which list holds for an Ingress.

Source: ingress-nginx v1.15.1, annotations allowlist-source-range and denylist-source-range. A list that cannot be read
closes what it would protect. It must not know how addresses are judged.
"""

from __future__ import annotations

import re
from ipaddress import IPv4Network, IPv6Network, collapse_addresses, ip_network

import msgspec

from balancer.model.gates import GateRule, SourceRanges
from ingress.findings import Severity
from ingress.settings.table.option import ingress_option, route_option
from ingress.settings.unsupported import closing
from ingress.settings.values import InvalidValue

_LET_IN = closing(Severity.UNPROTECTED, "addresses that are not allowed are let in")

# The model repeats them for every path of an Ingress. The longest usual lists, those of CDNs, have dozens.
_NETWORKS_MOST = 500
# No netmasks and no zones of link-local addresses, as in Go's net.ParseCIDR and net.ParseIP.
_NETWORK = re.compile(r"[0-9A-Fa-f:.]+(?:/[0-9]{1,3})?")
_MAPPED = IPv6Network("::ffff:0:0/96")
_MAPPED_BITS = 96


class SourceSettings(msgspec.Struct, frozen=True):
    """The lists of one source. `whitelisted` is the old name of `allowed`, and counts where that is empty."""

    allowed: tuple[str, ...] = ()
    whitelisted: tuple[str, ...] = ()
    denied: tuple[str, ...] = ()

    def gates(self, cluster: SourceSettings, blocked: tuple[str, ...] = ()) -> tuple[GateRule, ...]:
        """The gates of an Ingress with these lists. Each list that is set replaces that of the `cluster`.

        Networks in `blocked` (block-cidrs) are refused if neither the Ingress nor the cluster has a list, because nginx
        inherits `deny` only then.
        """
        allowed = self.allowed or self.whitelisted or cluster.allowed or cluster.whitelisted
        denied = self.denied or cluster.denied
        if not allowed and not denied:
            denied = blocked
        return (SourceRanges(allowed, denied),) if allowed or denied else ()


def networks(text: str) -> tuple[str, ...]:
    """A comma list of addresses and networks of IPv4 and IPv6, sorted and without overlaps; blank text is none.

    An IPv4 address that is written as an IPv6 one is an IPv4 address. Host bits do not count, as in Go.
    """
    items = [item.strip() for item in text.split(",") if item.strip()]
    if not items and text.strip():
        raise InvalidValue("use a comma list of addresses and networks such as 10.0.0.0/8")
    if len(items) > _NETWORKS_MOST:
        raise InvalidValue(f"use at most {_NETWORKS_MOST} addresses and networks")
    found = [_network(item) for item in items]
    v4 = collapse_addresses(each for each in found if isinstance(each, IPv4Network))
    v6 = collapse_addresses(each for each in found if isinstance(each, IPv6Network))
    return tuple(map(str, (*v4, *v6)))


def _network(item: str) -> IPv4Network | IPv6Network:
    try:
        network = ip_network(item if _NETWORK.fullmatch(item) else "", strict=False)
    except ValueError:
        raise InvalidValue("use a comma list of addresses and networks such as 10.0.0.0/8") from None
    if isinstance(network, IPv6Network) and network.subnet_of(_MAPPED):
        mapped = network.network_address.ipv4_mapped
        return IPv4Network((int(mapped or 0), network.prefixlen - _MAPPED_BITS))
    return network


SOURCE_RANGE_OPTIONS = (
    ingress_option(
        name="allowlist-source-range",
        fills=(SourceSettings, "allowed"),
        grammar=networks,
        doc="comma list of at most 500 IPv4 and IPv6 addresses and networks; clients outside it get 403. The address is"
        " the connection's, that of the PROXY header, or what a trusted proxy says (`use-forwarded-headers`). A list"
        " that cannot be read closes the paths of the Ingress",
        if_invalid=_LET_IN,
    ),
    route_option(
        name="whitelist-source-range",
        fills=(SourceSettings, "whitelisted"),
        grammar=networks,
        doc="comma list of IPv4 and IPv6 addresses and networks; clients outside it get 403. An Ingress's own list"
        " replaces it. A list that cannot be read closes every path",
        doc_on_ingress="counts where `allowlist-source-range` is empty, which is the same under its new name",
        if_invalid=_LET_IN,
    ),
    route_option(
        name="denylist-source-range",
        fills=(SourceSettings, "denied"),
        grammar=networks,
        doc="comma list likewise; clients inside it get 403, before `whitelist-source-range` is asked. A list that"
        " cannot be read closes every path",
        if_invalid=_LET_IN,
    ),
)
