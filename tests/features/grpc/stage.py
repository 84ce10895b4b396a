"""The fixture: servers of gRPC behind the real process, and channels of gRPC's client before it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import grpc
import trustme

from tests.features.grpc.servers import GrpcServer
from tests.integration.manifests import (
    ManifestFolder,
    Placed,
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

HOST = "grpc.test"
_MESSAGE_BYTES = 8 << 20


class GrpcStage:
    """A process, the servers behind it, and who signs for it."""

    def __init__(self, zonal: Zonal, authority: trustme.CA, folder: ManifestFolder) -> None:
        self.zonal, self.folder = zonal, folder
        self._credentials = grpc.ssl_channel_credentials(authority.cert_pem.bytes())

    def channel(self) -> Any:
        """A channel with a connection of its own."""
        return grpc.aio.secure_channel(
            f"127.0.0.1:{self.zonal.https_port}",
            self._credentials,
            options=[
                ("grpc.ssl_target_name_override", HOST),
                ("grpc.use_local_subchannel_pool", 1),
                ("grpc.max_receive_message_length", _MESSAGE_BYTES),
                ("grpc.max_send_message_length", _MESSAGE_BYTES),
                ("grpc.enable_retries", 0),
            ],
        )

    def place(self, *servers: Placed) -> None:
        """From now on these are the endpoints."""
        self.folder.write("endpoints.yaml", *(endpoint_slice(each) for each in servers))


@asynccontextmanager
async def staged(
    place: Path, servers: Sequence[Placed], *options: str, protocol: str = "GRPC", **settings: str
) -> AsyncIterator[GrpcStage]:
    """The process before `servers`, with certificates for `HOST`; `settings` go into the ConfigMap, `_` for `-`."""
    folder, authority = ManifestFolder(place), trustme.CA()
    issued = authority.issue_cert(HOST)
    chain = b"".join(blob.bytes() for blob in issued.cert_chain_pems)
    folder.write("class.yaml", ingress_class())
    folder.write("settings.yaml", config_map(**{"proxy_body_size": "0", **settings}))
    folder.write(
        "calls.yaml",
        service("calls"),
        tls_secret("calls", chain=chain, key=issued.private_key_pem.bytes()),
        ingress(
            "calls",
            rule(HOST, path("/", "calls")),
            tls=[{"hosts": [HOST], "secretName": "calls"}],
            annotations={"nginx.ingress.kubernetes.io/backend-protocol": protocol},
        ),
    )
    folder.write("endpoints.yaml", *(endpoint_slice(each) for each in servers))
    async with running(folder.place, *options) as zonal:
        yield GrpcStage(zonal, authority, folder)


@asynccontextmanager
async def serving(*zones: str, credentials: grpc.ServerCredentials | None = None) -> AsyncIterator[list[GrpcServer]]:
    """A server in each of `zones`."""
    servers = [GrpcServer("calls", zone) for zone in zones]
    for server in servers:
        await server.start(credentials)
    try:
        yield servers
    finally:
        await asyncio.gather(*(server.stop() for server in servers))
