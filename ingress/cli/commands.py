"""Reads the command line: turns options into typed values and runs the command, which imports the heavy parts.

Every option has an environment variable `ZONAL_<OPTION>`. Other modules decide what the options mean.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from ingress.cli import cluster_options
from ingress.cli.completion import completion
from ingress.cli.explaining import explain
from ingress.cli.flags import BadInput, Command, WholeNumber, option, reference, section, switch
from ingress.cli.hooks import hooks
from ingress.cli.manual import man
from ingress.cli.migration import check, migrate, rehearse
from ingress.cli.readings import addresses, peers
from ingress.cli.savings import savings
from ingress.cli.showing import COMMANDS

if TYPE_CHECKING:
    import msgspec

    from ingress.settings.options import ClusterAccess, RunOptions

_Options = TypeVar("_Options", bound="msgspec.Struct")

_VERSION = "Show the version, and whether the data plane is compiled, and exit."
_WORKERS_OF_ITSELF = 4  # each holds the whole model, and the chart's memory limit is for four
_WORKERS_MOST = 64

_PORT = WholeNumber(0, 65535)
_SECONDS = click.FloatRange(min=0)
_FILE = click.Path(path_type=Path)
_SOURCE = "kubernetes|DIR"
_SCALE = "Shorten every time of lists, watches and elections (tests)."
_STATUS_ADDRESSES = "IP addresses or host names that Ingresses get as status."
_WORKERS = "Processes that serve; auto: one for each CPU, 4 at most; 0: serve in this process."
_STANDBY = "Keep one more worker process ready for when another one ends; it takes the memory of a worker."
_EVENT_LOOP = "auto: uvloop if it is installed."
_COMPAT = "Serve the metrics of ingress-nginx, too, under its names."
_GATEWAY_ADDRESSES = "A Service of this type for each Gateway (auto: for a range), shared addresses, or no Gateways."
_SCOPES = "Follow Secrets of namespaces with TLS Ingresses, of the whole cluster, or one by one."


def _say_version(context: click.Context, _option: click.Parameter, is_asked: bool) -> None:
    """Prints the version, which build of the data plane runs, and what its HTTP/2 and its TLS lack."""
    if not is_asked or context.resilient_parsing:
        return
    from importlib.metadata import version

    from balancer.http2 import engines
    from balancer.runtime import tls_sessions
    from balancer.runtime.build import build_told

    click.echo(f"zonal, version {version('zonal-ingress')} ({build_told()})")
    for name, shortfall in (("HTTP/2", engines.shortfall()), ("TLS", tls_sessions.shortfall())):
        if shortfall:
            click.echo(f"{name} takes more CPU than it has to: {shortfall}")
    context.exit()


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--version", is_flag=True, is_eager=True, expose_value=False, callback=_say_version, help=_VERSION)
def cli() -> None:
    """zonal: a zone-aware HTTP ingress for Kubernetes."""


@cli.command(cls=Command)
@section(
    "Source",
    option("--source", help="The cluster, or a folder of manifests; default: kubernetes in a pod.", metavar=_SOURCE),
    option("--kubeconfig", type=_FILE, help="How to reach the cluster from outside of it."),
    cluster_options.WATCH_NAMESPACE,
    option("--secret-scope", type=click.Choice(["namespace", "cluster", "name"]), default="namespace", help=_SCOPES),
    cluster_options.CONFIGMAP,
    option("--hooks", type=_FILE, multiple=True, help="Hooks for requests (repeatable).", metavar="FILE|FOLDER"),
)
@section(
    "Ports",
    option("--http-port", type=_PORT, default=8080, help="Port for HTTP; 0 takes any free port."),
    option("--https-port", type=_PORT, default=8443, help="Port for HTTPS."),
    option("--gateway-ports", default="", help="Ports for Gateways: FIRST-LAST, or PORT=BOUND,...; none by default."),
    option(
        "--gateway-addresses",
        type=click.Choice(["auto", "load-balancer", "node-port", "cluster-ip", "shared", "none"]),
        default="auto",
        help=_GATEWAY_ADDRESSES,
    ),
    option(
        "--gateway-external-ips",
        default="",
        help="Networks of addresses that Gateways may ask for.",
        metavar="CIDR,...",
    ),
    option(
        "--gateway-aliases",
        default="",
        help="Domain of the cluster: each Gateway has an alias in its namespace.",
        metavar="DOMAIN",
    ),
    cluster_options.TCP_SERVICES,
    cluster_options.UDP_SERVICES,
    option("--bind-address", default="::", help="Address of the HTTP and HTTPS ports."),
    option("--admin-port", type=_PORT, default=10254, help="Port for health, metrics and debugging."),
    option("--admin-address", default="127.0.0.1", help="Address of the admin port."),
    switch("--debug-remote", help="Let peers beyond loopback read /debug."),
    option("--peer-port", type=_PORT, help="Port on which other replicas are heard; default: none."),
    option("--peer", multiple=True, callback=peers, help="Another replica (repeatable).", metavar="HOST:PORT"),
    option(
        "--peer-secret",
        type=_FILE,
        help="A file of at least 16 bytes that all replicas have; default in a cluster: Leases.",
    ),
    option("--limit-store", type=_FILE, help="A file with the URL of a Valkey or Redis server, for exact limits."),
    option("--webhook-port", type=_PORT, default=0, help="Port of the admission webhook; 0 is none."),
    option("--webhook-certificate-dir", type=_FILE, help="Folder with the webhook's tls.crt and tls.key."),
)
@section(
    "Zone",
    cluster_options.ZONE,
    cluster_options.NODE_NAME,
    cluster_options.POD_ZONE,
)
@section(
    "Which Ingresses and Services are served",
    cluster_options.INGRESS_CLASS,
    cluster_options.CONTROLLER_CLASS,
    cluster_options.WITHOUT_CLASS,
    cluster_options.DEFAULT_BACKEND,
    option("--default-ssl-certificate", help="Secret for hosts without a certificate.", metavar="NS/NAME"),
    cluster_options.LOCAL_ENDPOINTS,
    cluster_options.EXTERNAL_NAME,
    cluster_options.PASSTHROUGH,
    cluster_options.ONE_NAMESPACE,
)
@section(
    "What is written to the cluster",
    switch("--update-status", default=True, help="Write the status of Ingresses, and Events."),
    option("--publish-service", help="Service whose addresses Ingresses get as status.", metavar="NS/NAME"),
    option("--publish-status-address", callback=addresses, help=_STATUS_ADDRESSES, metavar="A[,B]"),
    option("--election-id", default="zonal-leader", help="Name of the Lease of the replica that writes."),
    option("--pod-name", also="POD_NAME", help="Name of this pod."),
    option("--pod-namespace", also="POD_NAMESPACE", help="The namespace of the pod, and of the Lease."),
    option("--pod-uid", also="POD_UID", help="The UID of the pod, which owns the replica's Lease."),
)
@section(
    "Process",
    option("--workers", default="auto", help=_WORKERS, metavar="auto|N|0"),
    switch("--standby-worker", help=_STANDBY),
    option("--event-loop", type=click.Choice(["auto", "uvloop", "asyncio"]), default="auto", help=_EVENT_LOOP),
    option("--shutdown-grace-period", type=_SECONDS, default=15.0, help="Seconds to keep accepting after SIGTERM."),
    option("--drain-timeout", type=_SECONDS, default=240.0, help="Seconds for requests in flight to end."),
    option("--time-scale", type=click.FloatRange(0.001, 1.0), default=1.0, hidden=True, help=_SCALE),
)
@section(
    "Logs and metrics",
    option("--compat-metrics", type=click.Choice(["none", "nginx"]), default="none", help=_COMPAT),
    option(
        "--access-log", type=click.Choice(["json", "upstreaminfo", "off"]), default="json", help="Access log format."
    ),
    option(
        "--log-level", type=click.Choice(["debug", "info", "warning", "error"]), default="info", help="Own log level."
    ),
    option("--log-format", type=click.Choice(["text", "json"]), default="text", help="Own log format (stderr)."),
)
def run(**given: Any) -> None:
    """Serve the Ingresses of a source."""
    from balancer.runtime.signals import begin_serving

    begin_serving()
    from ingress.cli.running import run_app
    from ingress.settings.options import ClusterAccess, RunOptions, conflict_of

    workers = _workers(given["workers"])
    context = cluster_options.context_of(given)
    cluster = _filled(
        ClusterAccess,
        given,
        publish_service=reference("--publish-service", given["publish_service"]),
        publish_status_addresses=given["publish_status_address"],
        pod_name=given["pod_name"] or None,
        pod_namespace=given["pod_namespace"] or None,
        pod_uid=given["pod_uid"] or None,
    )
    options = _filled(
        RunOptions,
        given,
        source=_source(given["source"], cluster),
        cluster=cluster,
        context=context,
        gateway_ports=cluster_options.gateway_ports_of(given["gateway_ports"]),
        peers=given["peer"],
        workers=workers,
        shutdown_grace_seconds=given["shutdown_grace_period"],
        drain_timeout_seconds=given["drain_timeout"],
    )
    if conflict := conflict_of(options):
        raise BadInput(conflict)
    _run_or_say(options, run_app)


@cli.command(cls=Command)
@option("--requests", type=WholeNumber(min=1), help="Send this many requests in each phase, then exit.")
@switch("--json", help="Print one JSON summary and nothing else on stdout.")
@option("--zone", default="zone-a", help="The zone that the demo's ingress runs in.")
@option("--http-port", type=_PORT, default=8080, help="Port of the demo's ingress; any free one if it is taken.")
@switch("--stay", help="Serve until Ctrl-C, also where the output is no terminal.")
@switch("--gateway", help="Use a Gateway and its routes instead of Ingresses.")
def demo(**given: Any) -> None:
    """Run a three-zone cluster on loopback and watch the zones.

    Where the output is no terminal, it ends after the last phase.
    """
    from ingress.demo.show import run_demo

    raise SystemExit(
        run_demo(
            requests=given["requests"],
            as_json=given["json"],
            zone=given["zone"],
            http_port=given["http_port"],
            stays=given["stay"],
            gateway=given["gateway"],
        )
    )


def _filled(kind: type[_Options], given: Mapping[str, Any], **read: Any) -> _Options:
    """The struct with what was `given` under the names of its fields, but for fields that had to be `read`."""
    named = {name: given[name] for name in kind.__struct_fields__ if name in given}
    return kind(**{**named, **read})


def _run_or_say(options: RunOptions, run_app: Callable[[RunOptions], None]) -> None:
    from balancer.connections.limit_stores import StoreUnusable
    from balancer.connections.listeners import CannotListen
    from balancer.runtime.loops import NoEventLoop
    from ingress.following.hook_files import HooksUnusable
    from ingress.settings.options import PeerSecretUnusable, option_of_port
    from ingress.sources.contract import CannotFollow
    from ingress.sources.folder import FolderUnreadable

    try:
        run_app(options)
    except CannotListen as error:
        raise BadInput(f"{option_of_port(error.purpose, is_port=error.is_port)}: {error}") from None
    except (CannotFollow, FolderUnreadable, HooksUnusable, NoEventLoop, PeerSecretUnusable, StoreUnusable) as error:
        raise BadInput(str(error)) from None


def _source(source: str | None, cluster: ClusterAccess) -> Path | None:
    """The folder to read; None for the cluster."""
    if source == "kubernetes" or (not source and (cluster.kubeconfig or "KUBERNETES_SERVICE_HOST" in os.environ)):
        return None
    if not source:
        raise BadInput("no source: give --source DIR, a folder of manifests, or --kubeconfig FILE, a cluster")
    return Path(source)


def _workers(given: str) -> int:
    """The number of worker processes; 0 if the platform lacks what they need."""
    from balancer.workers.spawning import can_have_workers
    from ingress.cli.cpus import usable_cpus

    if given == "auto":
        return min(_WORKERS_OF_ITSELF, usable_cpus()) if can_have_workers() else 0
    if not (given.isascii() and given.isdigit() and int(given) <= _WORKERS_MOST):
        raise BadInput(f"--workers takes auto or a number up to {_WORKERS_MOST}")
    if int(given) and not can_have_workers():
        raise BadInput(f"--workers {given}: worker processes need Linux 5.3; use auto or 0 (serve in this process)")
    return int(given)


cli.add_command(check)
cli.add_command(completion)
cli.add_command(explain)
cli.add_command(hooks)
cli.add_command(man)
cli.add_command(migrate)
cli.add_command(rehearse)
cli.add_command(savings)
for _command in COMMANDS:
    cli.add_command(_command)
