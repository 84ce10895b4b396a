"""What one process was told at its start, as one typed value.

Filled by the command line (flags, then environment, then defaults); everything that may change while running is in the
ConfigMap and read by `settings` instead. No I/O.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from ingress.objects.kinds import PublishedAddress
from ingress.settings.context import TranslationContext
from ingress.settings.gateway_ports import GatewayPorts


class ClusterAccess(msgspec.Struct, frozen=True, kw_only=True):
    """How a process works with an API server. References are `namespace/name`; empty texts mean not given.

    `secret_scope` says how widely Secrets are followed: cluster, namespace or name. `time_scale` shortens every time of
    lists, watches and elections, for tests.
    """

    kubeconfig: Path | None = None
    secret_scope: str = "namespace"
    update_status: bool = True
    publish_service: str | None = None
    publish_status_addresses: tuple[PublishedAddress, ...] = ()
    election_id: str = "zonal-leader"
    pod_name: str | None = None
    pod_namespace: str | None = None
    pod_uid: str | None = None
    webhook_port: int = 0
    webhook_certificate_dir: Path | None = None
    time_scale: float = 1.0


class RunOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Options of `zonal run`. Durations in seconds; port 0 is any free port.

    Without `source` the cluster is read. `peer_port` None: other replicas are not heard; `peers` are their places
    (`HOST:PORT`). `workers` 0: serve in this process. `standby_worker`: one more worker process
    is ready for when another one ends. `compat_metrics` nginx: `/metrics` also has the names of ingress-nginx.
    `hooks` are files and folders of the operator's hooks. `limit_store` is a file with the URL of a server that counts
    limits of all replicas.
    """

    source: Path | None
    cluster: ClusterAccess = ClusterAccess()
    context: TranslationContext = TranslationContext()
    bind_address: str = "::"
    http_port: int = 8080
    https_port: int = 8443
    gateway_ports: GatewayPorts = GatewayPorts()
    admin_address: str = "127.0.0.1"
    admin_port: int = 10254
    peer_port: int | None = None
    peers: tuple[str, ...] = ()
    peer_secret: Path | None = None
    workers: int = 0
    standby_worker: bool = False
    debug_remote: bool = False
    shutdown_grace_seconds: float = 15.0
    drain_timeout_seconds: float = 240.0
    access_log: str = "json"
    log_level: str = "info"
    log_format: str = "text"
    event_loop: str = "auto"
    compat_metrics: str = "none"
    hooks: tuple[Path, ...] = ()
    limit_store: Path | None = None


class PeerSecretUnusable(Exception):
    """Raised if the file of `--peer-secret` cannot be used. The message is one line that names it."""


def conflict_of(options: RunOptions) -> str | None:
    """Why these options cannot work together, as one line that names them; None if they can."""
    webhook_port = options.cluster.webhook_port
    if options.peers and options.peer_port is None:
        return "--peer needs --peer-port, because replicas tell each other in both directions"
    if options.peer_port is not None and options.peer_secret is None and options.source is not None:
        return (
            f"--peer-port needs --peer-secret with --source {options.source}, a file that all replicas have, because "
            "others must not be believed"
        )
    if webhook_port and options.source is not None:
        return (
            f"--webhook-port {webhook_port} needs a cluster, because only an API server calls the webhook: "
            f"leave it out with --source {options.source}"
        )
    ports = {
        "--http-port": options.http_port,
        "--https-port": options.https_port,
        "--admin-port": options.admin_port,
        "--webhook-port": webhook_port,
        "--peer-port": options.peer_port or 0,
    }
    taken: dict[int, str] = {}
    for name, port in (*ports.items(), *(("--gateway-ports", each) for each in options.gateway_ports.targets)):
        if port and taken.setdefault(port, name) != name:
            return f"{taken[port]} and {name} are both {port}: give each a port of its own"
    return None


def option_of_port(purpose: str, *, is_port: bool) -> str:
    """The option to change if zonal cannot listen: of the port itself, or of the address that it is on.

    `purpose` is http, https, gateway, admin, peer or webhook. The webhook listens on every address,
    so only its port has an option.
    """
    if purpose == "gateway" and is_port:
        return "--gateway-ports"
    if is_port or purpose == "webhook":
        return f"--{purpose}-port"
    return "--admin-address" if purpose == "admin" else "--bind-address"
