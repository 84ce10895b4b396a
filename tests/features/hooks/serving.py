"""A data plane whose route asks hooks, for tests of their texts over real sockets."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from typing import NamedTuple

from ingress.findings import Finding
from ingress.following.hook_files import registered
from ingress.settings.context import TranslationContext
from ingress.settings.hooks import RegisteredHook
from tests.fakes.backends import EchoEndpoint, echoing
from tests.integration.in_process import DataPlane, data_plane
from tests.integration.manifests import (
    Document,
    config_map,
    endpoint_slice,
    ingress,
    ingress_class,
    path,
    rule,
    service,
)
from tests.integration.wire import Connection, Response
from zonal_hooks.loading import load_text
from zonal_hooks.manifests import Asked, manifest_of

HOST = "shop.test"
APART = "apart.test"
OWN = "zonal-ingress.io/"
START = "import asyncio\nimport msgspec\nfrom zonal_hooks import Deny, Reply, Request, Response, hook\n"


def hook_of(name: str, text: str) -> RegisteredHook:
    """The hook in a text, which begins with the usual imports."""
    asked = Asked(name, f"{name}.py", START + text)
    return registered(asked, manifest_of(load_text(name, asked.text, asked.path)))


class Hooked(NamedTuple):
    """A data plane with `/` behind hooks and `/plain` without, and the endpoint of both."""

    plane: DataPlane
    web: EchoEndpoint
    findings: tuple[Finding, ...]

    async def ask(self, target: str = "/", *lines: str, method: str = "GET", body: bytes = b"") -> Response:
        """The answer to one request on a connection of its own."""
        head = "".join(f"{line}\r\n" for line in (f"{method} {target} HTTP/1.1", f"Host: {HOST}", *lines))
        async with await Connection.open(self.plane.http_port) as connection:
            return await connection.send(f"{head}\r\n".encode("latin-1") + body, method=method)

    def serve(
        self, hooks: Mapping[str, str], annotations: Mapping[str, str] | None = None, more: Iterable[Document] = ()
    ) -> Hooked:
        """Serves with hooks of these texts, all of which `/` asks, and with these documents beside it."""
        found = serve(self.plane, self.web, hooks, annotations, more)
        return self._replace(findings=found)


def serve(
    plane: DataPlane,
    web: EchoEndpoint,
    hooks: Mapping[str, str],
    annotations: Mapping[str, str] | None = None,
    more: Iterable[Document] = (),
) -> tuple[Finding, ...]:
    known = tuple(hook_of(name, text) for name, text in sorted(hooks.items()))
    own = {name if "/" in name else OWN + name: text for name, text in (annotations or {}).items()}
    said = {OWN + "hooks": ", ".join(hooks), **own}
    documents: list[Document] = [
        ingress_class(),
        config_map(ssl_redirect="false"),
        service("web"),
        endpoint_slice(web),
        ingress("hooked", rule(HOST, path("/", "web")), annotations=said),
        ingress("plain", rule(HOST, path("/plain", "web"))),
        ingress("apart", rule(APART, path("/", "web"))),
        *more,
    ]
    return plane.serve(documents, TranslationContext(allow_local_endpoints=True, hooks=known))


@asynccontextmanager
async def hooked(
    text: str, settings: str = "", *, annotations: Mapping[str, str] | None = None, **others: str
) -> AsyncIterator[Hooked]:
    """Serves with the hook `first` of this text, and `others` after it."""
    said = {**({"hook-first": settings} if settings else {}), **(annotations or {})}
    async with echoing("web", {"zone-a": 1}) as (web,), data_plane() as plane:
        yield Hooked(plane, web, serve(plane, web, {"first": text, **others}, said))


def sent(response: Response) -> dict[str, str]:
    """The fields that the endpoint got, by their names in lower case."""
    return {name.lower(): value for name, value in response.json()["headers"]}
