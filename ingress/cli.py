"""The command line: options into typed values, and which command runs. Heavy parts are imported by the command.

Every option has an environment variable `ZONAL_<OPTION>`. What the options mean is decided elsewhere.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from ingress.options import ClusterAccess, RunOptions
    from ingress.translation.context import TranslationContext

_F = TypeVar("_F", bound=Callable[..., Any])


class BadInput(Exception):
    """What the user gave cannot work; the message is one line that says what to change."""


def option(name: str, *more: str, also: str | None = None, **attributes: Any) -> Callable[[_F], _F]:
    """An option with its environment variable `ZONAL_<NAME>`; `also` names a second variable (the downward API's).

    `more` are other spellings of it.
    """
    variable = "ZONAL_" + name.removeprefix("--").replace("-", "_").upper()
    return click.option(
        name, *more, envvar=[variable, also] if also else variable, show_envvar=True, show_default=True, **attributes
    )


def switch(name: str, *, default: bool = False, help: str) -> Callable[[_F], _F]:
    """An option that is true or false, given as `--name`, `--name true` or `--name=false`."""
    return option(name, type=bool, is_flag=False, flag_value=True, default=default, help=help)


_WORKERS_OF_ITSELF = 4  # each holds the whole model, and the chart's limit of memory is for so many
_WORKERS_MOST = 64

_PORT = click.IntRange(0, 65535)
_SECONDS = click.FloatRange(min=0)
_FILE = click.Path(path_type=Path)
_SCALE = "Shorten every time of lists, watches and elections (tests)."
_WORKERS = "Processes that serve; auto: one for each CPU, 4 at most; 0: serve in this process."
_SCOPES = "Follow Secrets of namespaces with TLS Ingresses, of the whole cluster, or one by one."


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="zonal-ingress", prog_name="zonal")
def cli() -> None:
    """zonal: a zone-aware HTTP ingress for Kubernetes."""


@cli.command()
@option(
    "--source", help="The cluster, or a folder of manifests; default: kubernetes in a pod.", metavar="kubernetes|DIR"
)
@option("--kubeconfig", type=_FILE, help="How to reach the cluster from outside of it.")
@option("--http-port", type=_PORT, default=8080, help="Port for HTTP; 0 takes any free port.")
@option("--https-port", type=_PORT, default=8443, help="Port for HTTPS.")
@option("--admin-port", type=_PORT, default=10254, help="Port for health, metrics and debugging.")
@option("--admin-address", default="127.0.0.1", help="Address of the admin port.")
@option("--bind-address", default="::", help="Address of the HTTP and HTTPS ports.")
@option("--workers", default="auto", help=_WORKERS, metavar="auto|N|0")
@option("--zone", help="The own zone; overrides what is discovered.")
@option("--node-name", also="NODE_NAME", help="The Node this replica runs on.")
@option("--pod-zone", also="POD_ZONE", help="The zone label of the own pod.")
@option("--configmap", default="zonal/zonal", help="The ConfigMap with the settings.", metavar="NS/NAME")
@option("--ingress-class", default="zonal", help="Value of the legacy class annotation.")
@option("--controller-class", default="zonal-ingress.io/controller", help="Controller value of our IngressClasses.")
@option("--watch-namespace", multiple=True, help="Only these namespaces (repeatable); default all.")
@switch("--watch-ingress-without-class", help="Serve Ingresses that name no class.")
@option("--secret-scope", type=click.Choice(["namespace", "cluster", "name"]), default="namespace", help=_SCOPES)
@option("--publish-service", help="Service whose addresses Ingresses get as status.", metavar="NS/NAME")
@option("--publish-status-address", help="Addresses that Ingresses get as status.", metavar="A[,B]")
@switch("--update-status", default=True, help="Write the status of Ingresses, and Events.")
@option("--election-id", default="zonal-leader", help="Name of the Lease of the replica that writes.")
@option("--pod-name", also="POD_NAME", help="The pod this replica is.")
@option("--pod-namespace", also="POD_NAMESPACE", help="The namespace of the pod, and of the Lease.")
@option("--webhook-port", type=_PORT, default=0, help="Port of the admission webhook; 0 is none.")
@option("--webhook-certificate-dir", type=_FILE, help="Folder with the webhook's tls.crt and tls.key.")
@option("--time-scale", type=click.FloatRange(0.001, 1.0), default=1.0, hidden=True, help=_SCALE)
@option("--default-ssl-certificate", help="Certificate where no other fits.", metavar="NS/NAME")
@option("--default-backend-service", help="Service for requests that no rule matches.", metavar="NS/NAME")
@switch("--allow-local-endpoints", help="Allow loopback and link-local endpoints (demo, tests).")
@switch("--allow-external-name", help="Serve Services of type ExternalName, on public addresses only.")
@switch("--debug-remote", help="Let peers beyond loopback read /debug.")
@option("--shutdown-grace-period", type=_SECONDS, default=15.0, help="Seconds to go on accepting after SIGTERM.")
@option("--drain-timeout", type=_SECONDS, default=240.0, help="Seconds that requests in flight may take at the end.")
@option("--access-log", type=click.Choice(["json", "upstreaminfo", "off"]), default="json", help="Access log format.")
@option("--log-level", type=click.Choice(["debug", "info", "warning", "error"]), default="info", help="Own log level.")
@option("--log-format", type=click.Choice(["text", "json"]), default="text", help="Own log format (stderr).")
@option("--event-loop", type=click.Choice(["auto", "uvloop", "asyncio"]), default="auto", help="Event loop to run on.")
def run(**given: Any) -> None:
    """Serve the Ingresses of a source."""
    from ingress.options import ClusterAccess, RunOptions
    from ingress.running import run_app

    workers = _workers(given["workers"])
    context = _context(given)
    cluster = ClusterAccess(
        kubeconfig=given["kubeconfig"],
        secret_scope=given["secret_scope"],
        update_status=given["update_status"],
        publish_service=_reference("--publish-service", given["publish_service"]),
        publish_status_address=given["publish_status_address"] or None,
        election_id=given["election_id"],
        pod_name=given["pod_name"] or None,
        pod_namespace=given["pod_namespace"] or None,
        webhook_port=given["webhook_port"],
        webhook_certificate_dir=given["webhook_certificate_dir"],
        time_scale=given["time_scale"],
    )
    options = RunOptions(
        source=_source(given["source"], cluster),
        cluster=cluster,
        context=context,
        bind_address=given["bind_address"],
        http_port=given["http_port"],
        https_port=given["https_port"],
        admin_address=given["admin_address"],
        admin_port=given["admin_port"],
        workers=workers,
        debug_remote=given["debug_remote"],
        shutdown_grace_seconds=given["shutdown_grace_period"],
        drain_timeout_seconds=given["drain_timeout"],
        access_log=given["access_log"],
        log_level=given["log_level"],
        log_format=given["log_format"],
        event_loop=given["event_loop"],
    )
    _run_or_say(options, run_app)


@cli.command()
@option("--requests", type=click.IntRange(min=1), help="Send this many requests in each phase, then exit.")
@switch("--json", help="Print one JSON summary and nothing else on stdout.")
@option("--zone", default="zone-a", help="The zone that the demo's ingress runs in.")
@option("--http-port", type=_PORT, default=8080, help="Port of the demo's ingress; any free one if it is taken.")
def demo(requests: int | None, json: bool, zone: str, http_port: int) -> None:
    """Run a three-zone cluster on loopback and watch the zones."""
    from ingress.demo.show import run_demo

    raise SystemExit(run_demo(requests=requests, as_json=json, zone=zone, http_port=http_port))


@cli.command()
@click.argument("url")
@option("--header", "-H", multiple=True, help="A header field of the request (repeatable).", metavar="NAME:VALUE")
@option("--client", default="", help="Address of the client, for upstream-hash-by.", metavar="ADDRESS")
@option("--source", type=_FILE, help="Ask this folder of manifests.", metavar="DIR")
@option("--admin", help="Ask the ingress that serves behind this admin port.", metavar="URL")
@option("--zone", help="The own zone; overrides what is discovered.")
@option("--node-name", also="NODE_NAME", help="The Node the replica runs on.")
@option("--pod-zone", also="POD_ZONE", help="The zone label of the own pod.")
@option("--configmap", default="zonal/zonal", help="The ConfigMap with the settings.", metavar="NS/NAME")
@option("--ingress-class", default="zonal", help="Value of the legacy class annotation.")
@option("--controller-class", default="zonal-ingress.io/controller", help="Controller value of our IngressClasses.")
@option("--watch-namespace", multiple=True, help="Only these namespaces (repeatable); default all.")
@switch("--watch-ingress-without-class", help="Serve Ingresses that name no class.")
@option("--publish-service", help="The Service of the replicas themselves.", metavar="NS/NAME")
@option("--default-backend-service", help="Service for requests that no rule matches.", metavar="NS/NAME")
@switch("--allow-local-endpoints", help="Allow loopback and link-local endpoints (demo, tests).")
@switch("--allow-external-name", help="Serve Services of type ExternalName, on public addresses only.")
@option("--output", "-o", type=click.Choice(["text", "json"]), default="text", help="For people or for tools.")
@option("--expect-zone", help="Exit 1 unless every endpoint of the pool is in this zone.")
@option("--expect-service", help="Exit 1 unless this Service serves.", metavar="NS/NAME")
def explain(**given: Any) -> None:
    """Say where a request for URL goes, and why, step by step."""
    from ingress.explain import CannotExplain, ExplainOptions, run_explain

    context = click.get_current_context()
    spoken = click.core.ParameterSource.COMMANDLINE
    if given["source"] and given["admin"]:
        both = all(context.get_parameter_source(name) is spoken for name in ("source", "admin"))
        if both:
            raise BadInput("give --source or --admin, not both")
        # The variables of a serving pod are there as well: what was typed is meant.
        given["source" if context.get_parameter_source("admin") is spoken else "admin"] = None
    options = ExplainOptions(
        url=given["url"],
        fields=given["header"],
        client=given["client"],
        source=given["source"],
        admin=given["admin"] or None,
        context=_context(given),
        as_json=given["output"] == "json",
        expect_zone=given["expect_zone"] or None,
        expect_service=_reference("--expect-service", given["expect_service"]),
    )
    try:
        status = run_explain(options)
    except CannotExplain as error:
        raise BadInput(str(error)) from None
    raise SystemExit(status)


def _context(given: Mapping[str, Any]) -> TranslationContext:
    """How the cluster is read, of the options that say so; not every command has every one."""
    from ingress.translation.context import TranslationContext

    return TranslationContext(
        controller_class=given["controller_class"],
        ingress_class=given["ingress_class"],
        watch_ingress_without_class=given["watch_ingress_without_class"],
        configmap=_reference("--configmap", given["configmap"]) or "",
        zone=given["zone"] or None,
        node_name=given["node_name"] or None,
        pod_zone=given["pod_zone"] or None,
        allow_local_endpoints=given["allow_local_endpoints"],
        allow_external_name=given["allow_external_name"],
        default_ssl_certificate=_reference("--default-ssl-certificate", given.get("default_ssl_certificate")),
        default_backend_service=_reference("--default-backend-service", given["default_backend_service"]),
        watch_namespaces=tuple(given["watch_namespace"]),
        publish_service=_reference("--publish-service", given["publish_service"]),
    )


def _run_or_say(options: RunOptions, run_app: Callable[[RunOptions], None]) -> None:
    from balancer.workers.listeners import CannotListen
    from balancer.workers.loops import NoEventLoop
    from ingress.sources.contract import CannotFollow
    from ingress.sources.folder import FolderUnreadable

    try:
        run_app(options)
    except (CannotFollow, CannotListen, FolderUnreadable, NoEventLoop) as error:
        raise BadInput(str(error)) from None


def _source(source: str | None, cluster: ClusterAccess) -> Path | None:
    """The folder to read; None is the cluster."""
    if source == "kubernetes" or (not source and (cluster.kubeconfig or "KUBERNETES_SERVICE_HOST" in os.environ)):
        return None
    if not source:
        raise BadInput("no source: give --source DIR, a folder of manifests, or --kubeconfig FILE, a cluster")
    return Path(source)


def _workers(given: str) -> int:
    """How many worker processes there are to be; 0 is none, where the platform has not what they need."""
    from balancer.workers.spawning import can_have_workers
    from ingress.cpus import usable_cpus

    if given == "auto":
        return min(_WORKERS_OF_ITSELF, usable_cpus()) if can_have_workers() else 0
    if not (given.isascii() and given.isdigit() and int(given) <= _WORKERS_MOST):
        raise BadInput(f"--workers takes auto or a number up to {_WORKERS_MOST}")
    if int(given) and not can_have_workers():
        raise BadInput(f"--workers {given}: worker processes need Linux 5.3; use auto or 0 (serve in this process)")
    return int(given)


def _reference(name: str, value: str | None) -> str | None:
    if not value:
        return None
    if value.count("/") != 1 or value.startswith("/") or value.endswith("/"):
        raise BadInput(f"{name} takes NAMESPACE/NAME")
    return value
