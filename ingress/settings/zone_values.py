"""Values about zones that people write as text: policies, tolls, prices and lists of zones.

Responsible for the grammar of each, as in `values`. It must not know which key uses which form.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from ipaddress import ip_network

import msgspec

from balancer.model.zones import ClientNetwork, Zone, ZonePolicyName, ZonePrices
from ingress.objects.names import LABEL_VALUE, SUBDOMAIN
from ingress.settings.values import InvalidValue

ANY_ENDPOINT = "*"
"""The last key of an ordered list that is not strict."""

# Kubernetes allowed so many topologyKeys, the last one included (validation.go MaxServiceTopologyKeys, until 1.21).
_KEYS_MOST = 16
_ORDERED = "ordered:"
_NAMES = {name.value: name for name in ZonePolicyName if name is not ZonePolicyName.ORDERED}

_DECIMAL = r"[0-9]{1,6}(?:\.[0-9]{1,9})?"
_TOLL = re.compile(rf"(?:({_DECIMAL})%)?(\+)?(?:({_DECIMAL})(ms|s))?")
_A_SECOND = {"ms": 1000, "s": 1}
_DRAIN = re.compile(
    r"(?P<zone>[^ ]+)(?: +until=(?P<until>[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+(?:Z|[+-][0-9]{2}:[0-9]{2})))?"
)
_DRAIN_ADVICE = "use a comma list of zones such as zone-a, zone-b until=2027-01-31T18:00:00Z"
_PRICE = re.compile(_DECIMAL)
_NETWORKS_MOST = 256
_NETWORK_ADVICE = "use networks and their zones such as 10.0.0.0/19=zone-a, 10.0.32.0/19=zone-b"


class PolicyChoice(msgspec.Struct, frozen=True):
    """A zone policy by name; `name` None is `auto`. `keys` are those of an `ordered` list."""

    name: ZonePolicyName | None = None
    keys: tuple[str, ...] = ()


class ZoneDrain(msgspec.Struct, frozen=True):
    """A zone that is drained until a time, in seconds of the Unix epoch; None: until somebody ends it."""

    zone: Zone
    until_epoch_seconds: float | None = None


class Toll(msgspec.Struct, frozen=True):
    """Latency that a request may pay to stay in its zone: a share of it, and seconds."""

    ratio: float = 0.05
    seconds: float = 0.0005


def policy_choice(text: str) -> PolicyChoice:
    """`auto`, the name of a policy, or `ordered:` and a comma list of node labels, of which `*` may be the last."""
    if text == "auto":
        return PolicyChoice()
    if text in _NAMES:
        return PolicyChoice(_NAMES[text])
    if text.startswith(_ORDERED):
        return PolicyChoice(ZonePolicyName.ORDERED, _label_keys(text.removeprefix(_ORDERED)))
    raise InvalidValue("use off, auto, prefer-zone, hints, allocate, proportional, adaptive or ordered: and labels")


def toll(text: str) -> Toll:
    """`5%+0.5ms`, or one of both: then the other is nothing."""
    match = _TOLL.fullmatch(text)
    if match is None or not (match[1] or match[3]) or bool(match[2]) != bool(match[1] and match[3]):
        raise InvalidValue("use a percentage and a time such as 5%+0.5ms, or one of both")
    return Toll(float(match[1] or 0) / 100, float(match[3] or 0) / _A_SECOND[match[4] or "s"])


def zone_drains(text: str) -> tuple[ZoneDrain, ...]:
    """A comma list of zones, each once, with the end of its drain or without: `zone-a, zone-b until=…`. Sorted.

    The end is a time with date and time zone (RFC 3339). An empty text is no drain.
    """
    entries = {entry.strip(" ") for entry in text.split(",")} if text.strip(" ") else set()
    drains = sorted(map(_zone_drain, entries), key=lambda drain: drain.zone)
    if len({drain.zone for drain in drains}) < len(drains):
        raise InvalidValue("name each zone once")
    return tuple(drains)


def _zone_drain(entry: str) -> ZoneDrain:
    match = _DRAIN.fullmatch(entry)
    if match is None or not LABEL_VALUE.fullmatch(match["zone"]):
        raise InvalidValue(_DRAIN_ADVICE)
    try:
        # In UTC, because a time near the year 1 or 9999 may have none there, and nobody could write it.
        until = datetime.fromisoformat(match["until"]).astimezone(UTC).timestamp() if match["until"] else None
    except (ValueError, OverflowError):
        raise InvalidValue(_DRAIN_ADVICE) from None
    return ZoneDrain(Zone(match["zone"]), until)


def prices(text: str) -> ZonePrices:
    """Dollars for a gigabyte: one number for every pair of zones, or a comma list such as `a>b=0.01,*=0.02`.

    Each direction has its own price. Pairs that are not listed cost what `*` says, without it the usual price.
    """
    if _PRICE.fullmatch(text.strip(" ")):
        return ZonePrices(default=float(text))
    found: dict[tuple[str, str], float] = {}
    for entry in text.split(","):
        place, _, price = (part.strip(" ") for part in entry.partition("="))
        pair = _pair(place)
        if pair is None or pair in found or not _PRICE.fullmatch(price):
            raise InvalidValue("use a price such as 0.02, or prices of pairs such as zone-a>zone-b=0.01,*=0.02")
        found[pair] = float(price)
    default = found.pop((ANY_ENDPOINT, ANY_ENDPOINT), ZonePrices().default)
    pairs = tuple((Zone(one), Zone(other), price) for (one, other), price in sorted(found.items()))
    return ZonePrices(default, pairs)


def client_networks(text: str) -> tuple[ClientNetwork, ...]:
    """A comma list of networks with their zones: `10.0.0.0/19=zone-a, fd00::/64=zone-b`. Sorted; empty: none."""
    found: dict[str, Zone] = {}
    for entry in text.split(",") if text.strip(" ") else ():
        network, _, zone = (part.strip(" ") for part in entry.partition("="))
        try:
            name = str(ip_network(network))
        except ValueError:
            raise InvalidValue(f"{_NETWORK_ADVICE}, without bits of hosts") from None
        if not LABEL_VALUE.fullmatch(zone) or name in found:
            raise InvalidValue(f"{_NETWORK_ADVICE}, each network once")
        found[name] = Zone(zone)
    if len(found) > _NETWORKS_MOST:
        raise InvalidValue(f"use at most {_NETWORKS_MOST} networks")
    return tuple(ClientNetwork(network, zone) for network, zone in sorted(found.items()))


def _label_keys(text: str) -> tuple[str, ...]:
    keys = tuple(key.strip(" ") for key in text.split(","))
    specific = keys[:-1] if keys[-1] == ANY_ENDPOINT else keys
    if not all(map(_is_label_key, specific)):
        raise InvalidValue("use a comma list of node labels after ordered:, and * as the last one only")
    if len(keys) > _KEYS_MOST or len(set(keys)) < len(keys):
        raise InvalidValue(f"use at most {_KEYS_MOST} labels after ordered:, each once")
    return keys


def _is_label_key(key: str) -> bool:
    """IsQualifiedName of apimachinery: a name like a label's value, which a DNS name and a slash may precede."""
    prefix, slash, name = key.rpartition("/")
    return bool(LABEL_VALUE.fullmatch(name)) and (not slash or bool(SUBDOMAIN.fullmatch(prefix)))


def _pair(place: str) -> tuple[str, str] | None:
    """Both zones of `a>b`, two stars of `*`; None for anything else, and for a zone and itself, which is free."""
    if place == ANY_ENDPOINT:
        return ANY_ENDPOINT, ANY_ENDPOINT
    one, _, other = (part.strip(" ") for part in place.partition(">"))
    is_pair = LABEL_VALUE.fullmatch(one) and LABEL_VALUE.fullmatch(other) and one != other
    return (one, other) if is_pair else None
