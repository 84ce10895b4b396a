"""From annotations of an Ingress to filters of the rules of a route. Pure; does not know paths, hosts or backends."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from balancer.model.policies import RoutePolicy
from ingress.migration.moving import RawObject
from ingress.settings.table.affinity import AffinityOptions
from ingress.settings.table.cors import CorsSettings
from ingress.settings.table.option import Overrides
from ingress.settings.table.redirects import RedirectTargets
from ingress.settings.table.rewriting import RewriteSettings

_URL: Final = re.compile(
    r"(?:(?P<scheme>https?)://(?P<host>[A-Za-z0-9.-]+)(?::(?P<port>[0-9]{1,5}))?)?(?P<path>/[^?]*)?"
)
_MIRROR: Final = re.compile(
    r"http://(?P<service>[a-z0-9-]+)(?:\.(?P<namespace>[a-z0-9-]+)(?:\.svc(?:\.[a-z0-9.-]+)?)?)?(?::(?P<port>[0-9]{1,5}))?"
    r"(?:/?\$request_uri)?/?"
)
_HTTP_PORT: Final = 80
_HOUR_SECONDS: Final = 3600
_HOURS_MOST: Final = 99_999  # a number of a Duration has five digits (GEP-2257)


def redirect_filter(targets: RedirectTargets) -> RawObject | None:
    """RequestRedirect of every request of an Ingress; None: there is none. Raises ValueError for a target that has no
    form.
    """
    target, status = targets.permanent, targets.permanent_status
    if targets.temporal:
        target, status = targets.temporal, targets.temporal_status
    if not target:
        return None
    found = _URL.fullmatch(target)
    if found is None:
        raise ValueError(f"a redirect to {target} has no form, because a filter sets no query")
    redirect: RawObject = {"statusCode": status if status in {301, 302, 303, 307, 308} else 302}
    if found["host"]:
        redirect |= {"scheme": found["scheme"], "hostname": found["host"].lower()}
        if found["port"]:
            redirect["port"] = int(found["port"])
    redirect["path"] = {"type": "ReplaceFullPath", "replaceFullPath": found["path"] or "/"}
    return {"type": "RequestRedirect", "requestRedirect": redirect}


def https_filter(status: int) -> RawObject:
    """RequestRedirect to https."""
    return {"type": "RequestRedirect", "requestRedirect": {"scheme": "https", "statusCode": status}}


def own_filters(overrides: Overrides, rewrite: RawObject | None, fields: Mapping[str, str]) -> Iterator[RawObject]:
    """The filters of a rule with a backend.

    `rewrite` is the path of URLRewrite. `fields` are those that responses get. Raises ValueError for what has no form.
    """
    prefix = overrides.over(RewriteSettings()).forwarded_prefix
    if prefix and rewrite is not None:
        modifier = {"set": [{"name": "X-Forwarded-Prefix", "value": prefix}]}
        yield {"type": "RequestHeaderModifier", "requestHeaderModifier": modifier}
    cors = overrides.over(CorsSettings())
    if cors.enabled:
        yield {"type": "CORS", "cors": _cors(cors)}
    if fields:
        modifier = {"set": [{"name": name, "value": text} for name, text in sorted(fields.items())]}
        yield {"type": "ResponseHeaderModifier", "responseHeaderModifier": modifier}
    host = overrides.over(RoutePolicy()).host
    if host or rewrite is not None:
        if host and not re.fullmatch(r"[a-z0-9.-]+", host.lower()):
            raise ValueError(f"upstream-vhost {host} has no form, because a filter takes no port and no variable")
        said = {**({"hostname": host.lower()} if host else {}), **({"path": rewrite} if rewrite is not None else {})}
        yield {"type": "URLRewrite", "urlRewrite": said}


def mirror_filter(target: str, namespace: str) -> RawObject | None:
    """RequestMirror to a Service of the cluster; None for any other URL."""
    found = _MIRROR.fullmatch(target)
    if found is None:
        return None
    backend: RawObject = {"name": found["service"], "port": int(found["port"] or _HTTP_PORT)}
    if found["namespace"] and found["namespace"] != namespace:
        backend["namespace"] = found["namespace"]
    return {"type": "RequestMirror", "requestMirror": {"backendRef": backend}}


def session_of(overrides: Overrides) -> RawObject | None:
    """The sessionPersistence of a rule; None: clients do not stay."""
    options = overrides.over(AffinityOptions())
    if not options.by_cookie:
        return None
    cookie = overrides.over(options.cookie)
    found: RawObject = {"type": "Cookie", "sessionName": cookie.cookie}
    seconds = cookie.max_age_seconds or cookie.expires_seconds
    if seconds:
        found |= {"absoluteTimeout": _duration(seconds), "cookieConfig": {"lifetimeType": "Permanent"}}
    return found


def _duration(seconds: int) -> str:
    """`seconds` as a Duration of Gateway API, at most the longest one."""
    hours, rest = divmod(seconds, _HOUR_SECONDS)
    if hours > _HOURS_MOST:
        return f"{_HOURS_MOST}h"
    return "".join(f"{number}{unit}" for number, unit in ((hours, "h"), (rest, "s")) if number)


def _cors(said: CorsSettings) -> RawObject:
    found: RawObject = {"allowOrigins": list(said.origins.allowed)}
    if said.credentials:
        found["allowCredentials"] = True
    for name, text in (
        ("allowMethods", said.methods),
        ("allowHeaders", said.headers),
        ("exposeHeaders", said.exposed),
    ):
        if items := [each for each in re.split(r"[ ,]+", text) if each]:
            found[name] = items
    if said.max_age_seconds > 0:
        found["maxAge"] = said.max_age_seconds
    return found
