"""The fixture of the cases: two tenants with HTTP/1.1 endpoints, one HTTP/2 endpoint, and the real process before them.

Responsible for what runs. It must not know any case.
"""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import trustme

from tests.features.http2.endpoints import Http1Endpoint, Http2Endpoint
from tests.integration.manifests import (
    ManifestFolder,
    config_map,
    endpoint_slice,
    ingress,
    ingress_class,
    path,
    rule,
    service,
    tls_secret,
)
from tests.integration.running import Zonal, running

HOSTS = {"app.test": "app", "victim.test": "victim"}
_CALLS = "grpc.test"
_ANNOTATIONS = {_CALLS: {"nginx.ingress.kubernetes.io/backend-protocol": "GRPC"}}
_HASTY = {
    "client_header_timeout": "30",  # longer than a busy machine takes for the bytes of a case, one by one
    "client_body_timeout": "30",
    "proxy_read_timeout": "30",
    "proxy_send_timeout": "30",
    "keep_alive_requests": "100000",
}


class Stage:
    """A process and its endpoints, by Service."""

    def __init__(
        self, zonal: Zonal, engine: str, http1: dict[str, Http1Endpoint], http2: Http2Endpoint, authority: trustme.CA
    ) -> None:
        self.zonal, self.engine, self.http1, self.http2 = zonal, engine, http1, http2
        self.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        authority.configure_trust(self.tls)
        self.tls.set_alpn_protocols(["h2"])

    def resident_bytes(self) -> int:
        for line in Path(f"/proc/{self.zonal.pid}/status").read_text().splitlines():
            if line.startswith("VmRSS"):
                return int(line.split()[1]) * 1024
        raise KeyError("VmRSS")


@asynccontextmanager
async def staged(
    place: Path, engine: str, *, annotations: Mapping[str, Mapping[str, str]] | None = None, **settings: str
) -> AsyncIterator[Stage]:
    """A stage below `place` whose HTTP/2 is that of `engine`; `settings` go into the ConfigMap, with `_` for `-`.

    `annotations` are those of further hosts.
    """
    folder, authority = ManifestFolder(place), trustme.CA()
    http1 = {name: Http1Endpoint(name) for name in HOSTS.values()}
    http2 = Http2Endpoint("calls")
    endpoints: list[Http1Endpoint | Http2Endpoint] = [*http1.values(), http2]
    for endpoint in endpoints:
        await endpoint.start()
    options = {**_HASTY, "http2_engine": engine, **settings}
    folder.write("class.yaml", ingress_class())
    folder.write("settings.yaml", config_map(ssl_redirect="false", proxy_body_size="16m", **options))
    _write_hosts(folder, {**http1, "calls": http2}, authority, {**_ANNOTATIONS, **(annotations or {})})
    try:
        async with running(folder.place, "--workers", "0", "--drain-timeout", "2") as zonal:
            yield Stage(zonal, engine, http1, http2, authority)
    finally:
        for endpoint in endpoints:
            endpoint.stop()


def _write_hosts(
    folder: ManifestFolder,
    endpoints: Mapping[str, Http1Endpoint | Http2Endpoint],
    authority: trustme.CA,
    annotations: Mapping[str, Mapping[str, str]],
) -> None:
    """One certificate for all hosts, so that no request of another host is misdirected before it is judged."""
    issued = authority.issue_cert(*HOSTS, _CALLS)
    chain = b"".join(blob.bytes() for blob in issued.cert_chain_pems)
    for host, name in {**HOSTS, _CALLS: "calls"}.items():
        secret = tls_secret(name, chain=chain, key=issued.private_key_pem.bytes(), namespace=name)
        tls = [{"hosts": [host], "secretName": name}]
        folder.write(
            f"{name}.yaml",
            service(name, namespace=name),
            endpoint_slice(endpoints[name], namespace=name),
            secret,
            ingress(name, rule(host, path("/", name)), namespace=name, tls=tls, annotations=annotations.get(host)),
        )
