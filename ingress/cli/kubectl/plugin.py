"""The command line of `kubectl zonal`: the commands of `zonal` about replicas, asked through the API server.

Reads their options. Does not know how replicas are found or asked.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from ingress.cli.explaining import FOLDER_SECTION, explain
from ingress.cli.flags import BadInput, Command, option, section, section_of, switch
from ingress.cli.showing import COMMANDS
from ingress.objects.names import LABEL_VALUE

if TYPE_CHECKING:
    from ingress.cli.kubectl.session import Access, ClusterSession

_SELECTOR: Final = "app.kubernetes.io/name=zonal"
_IN: Final = "The namespace of the replicas."
_KUBECONFIG: Final = "How to reach the cluster, as for kubectl."
_WAIT: Final = "So long replicas have to learn of it; 0: do not wait."
_UNTIL: Final = "When the drain ends by itself: 2h from now, or at 2027-01-31T18:00:00Z."
_LOOK_SECONDS: Final = 0.5


def _kubeconfig(_context: click.Context, _option: click.Parameter, value: str | None) -> Path:
    """The option, or the variable, or the place that kubectl knows."""
    return Path(value) if value else Path.home() / ".kube" / "config"


def _zone(_context: click.Context, _argument: click.Parameter, value: str) -> str:
    """A zone, which is the value of a label. Raises `BadInput`."""
    if not LABEL_VALUE.fullmatch(value):
        raise BadInput("ZONE is one zone, such as europe-west1-b")
    return value


_CLUSTER = section(
    "Which replicas",
    option("--kubeconfig", also="KUBECONFIG", callback=_kubeconfig, help=_KUBECONFIG, metavar="FILE"),
    option("--context", help="A context of the kubeconfig; default: the current one."),
    option("--replicas-in", default="zonal", help=_IN, metavar="NAMESPACE"),
    option("--selector", "-l", default=_SELECTOR, help="The labels of the replicas' pods."),
    option("--zone", "replica_zone", default="", help="Only replicas in this zone.", metavar="ZONE"),
)
_OURS: Final = frozenset({"kubeconfig", "context", "replicas_in", "selector", "replica_zone"})


@click.group(name="kubectl zonal", context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="zonal-ingress", prog_name="kubectl zonal")
def plugin() -> None:
    """Ask the replicas of zonal in a cluster."""


def _through_the_cluster(command: click.Command, *, without: Mapping[str, Any], only_one: bool = False) -> Command:
    """A command of `zonal` whose admin ports are those of the replicas. `only_one`: of one of them.

    The options `without` are not offered; they have these values.
    """
    assert command.callback is not None
    ask = command.callback

    def run(**given: Any) -> None:
        with _session(given) as found:
            admin = found.urls[0] if only_one else tuple(found.urls)
            rest = {name: value for name, value in given.items() if name not in _OURS}
            if only_one and len(found.urls) > 1:
                print(f"zonal: asked {found.replicas[0].name}; --zone chooses another", file=sys.stderr)
            ask(**{**without, **rest, "admin": admin})

    offered = [param for param in command.params if param.name not in without]
    cluster = vars(_CLUSTER(run))["__click_params__"]
    return Command(command.name, callback=run, params=[*offered, *reversed(cluster)], help=command.help)


def _of_a_folder() -> dict[str, Any]:
    """The options of `zonal explain` that count only for a folder, with values that count for nothing."""
    names = [param.name for param in explain.params if section_of(param) == FOLDER_SECTION]
    return {**{name: () if name == "watch_namespace" else None for name in names if name}, "source": None}


for _command in COMMANDS:
    plugin.add_command(_through_the_cluster(_command, without={"admin": ()}))
plugin.add_command(_through_the_cluster(explain, without={**_of_a_folder(), "admin": None}, only_one=True))


@plugin.command(cls=Command)
@click.argument("zone", callback=_zone)
@section(
    "How",
    option("--until", default="", help=_UNTIL, metavar="TIME"),
    switch("--force", help="Drain a zone that no replica knows, or the last one."),
    option("--wait", type=click.FloatRange(min=0), default=30.0, help=_WAIT, metavar="SECONDS"),
)
@_CLUSTER
def drain(**given: Any) -> None:
    """Let requests leave ZONE: add it to zone-drain in the replicas' ConfigMap."""
    from ingress.cli.kubectl.session import zones_of

    zone: str = given["zone"]
    until = _end(given["until"])
    with _session(given) as found:
        configmap = _configmap(found)
        known = zones_of(found.urls)
        if not given["force"]:
            _refuse_unless_sensible(zone, known, found.drained(configmap))
        drained = found.drain(configmap, add=zone, until=until)
        _tell(configmap, drained)
        _wait(found, lambda zones: zones.get(zone, True), seconds=given["wait"])


@plugin.command(cls=Command)
@click.argument("zone", required=False)
@section("How", option("--wait", type=click.FloatRange(min=0), default=30.0, help=_WAIT, metavar="SECONDS"))
@_CLUSTER
def undrain(**given: Any) -> None:
    """Let requests return to ZONE, or to every zone: take it out of zone-drain."""
    from ingress.cli.kubectl.drains import zone_of

    zone: str | None = given["zone"]
    with _session(given) as found:
        configmap = _configmap(found)
        if zone is not None and zone not in map(zone_of, found.drained(configmap)):
            raise BadInput(f"zone {zone} is not drained by the ConfigMap {configmap}")
        drained = found.drain(configmap, remove=zone)
        _tell(configmap, drained)
        gone = (
            (lambda zones: not zones.get(zone, False)) if zone is not None else (lambda zones: not any(zones.values()))
        )
        _wait(found, gone, seconds=given["wait"])


def _refuse_unless_sensible(zone: str, known: Mapping[str, bool], drained: tuple[str, ...]) -> None:
    """Raises `BadInput` for a zone that no replica knows, and for the last known zone that is not drained."""
    from ingress.cli.kubectl.drains import zones_left

    if known and zone not in known:
        raise BadInput(f"no replica knows zone {zone} (they know {', '.join(sorted(known))}); --force drains it")
    left = set(known) - {"unknown", zone} - zones_left(drained, now_epoch_seconds=time.time())
    if known and not left:
        raise BadInput(f"{zone} is the last zone: a drain of every zone changes nothing; --force drains it")


def _end(text: str) -> str:
    """The end of a drain as zone-drain has it; empty if `text` is. Raises `BadInput`."""
    from ingress.cli.kubectl.drains import end_of

    try:
        return end_of(text, now_epoch_seconds=time.time()) if text else ""
    except ValueError as error:
        raise BadInput(f"--until {text}: {error}") from None


def _configmap(found: ClusterSession) -> str:
    from ingress.cli.kubectl.replicas import configmap_of

    try:
        return configmap_of(found.replicas)
    except ValueError as error:
        raise BadInput(str(error)) from None


def _tell(configmap: str, drained: tuple[str, ...]) -> None:
    print(f'ConfigMap {configmap}: zone-drain: "{",".join(drained)}"', flush=True)


def _wait(found: ClusterSession, is_so: Callable[[dict[str, bool]], bool], *, seconds: float) -> None:
    """Waits until every replica knows it. Raises `BadInput` if they do not in time."""
    from ingress.cli.kubectl.session import zones_of

    until = time.monotonic() + seconds
    while seconds and not is_so(zones_of(found.urls)):
        if time.monotonic() > until:
            raise BadInput(f"not every replica knows it after {seconds:g} s: see kubectl zonal findings")
        time.sleep(_LOOK_SECONDS)
    if seconds:
        print(f"{len(found.replicas)} of {len(found.replicas)} replicas know it")


@contextmanager
def _session(given: Mapping[str, Any]) -> Iterator[ClusterSession]:
    from ingress.cli.kubectl.session import CannotReach, session

    try:
        with session(_access(given)) as found:
            yield found
    except CannotReach as error:
        raise BadInput(str(error)) from None


def _access(given: Mapping[str, Any]) -> Access:
    from ingress.cli.kubectl.session import Access

    return Access(
        kubeconfig=given["kubeconfig"],
        context=given["context"] or None,
        namespace=given["replicas_in"],
        selector=given["selector"],
        zone=given["replica_zone"],
    )
