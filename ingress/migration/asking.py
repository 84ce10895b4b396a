"""Checks a cluster: reads the API server once, as `zonal run` would at its start, and writes nothing.

What ingress-nginx runs with is read first, because it says which objects count.

Imported only for a cluster, because the Kubernetes client is heavy. Does not know flags.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Collection
from pathlib import Path

import msgspec

from ingress.migration.adopting import Adoption
from ingress.migration.arguments import with_arguments
from ingress.migration.checking import with_controller
from ingress.migration.cluster_controllers import ask_controller
from ingress.migration.gateway.checked import ports_of
from ingress.migration.judging import review
from ingress.migration.verdicts import Review
from ingress.objects.kinds import OPTIONAL_KINDS
from ingress.settings.context import TranslationContext
from ingress.sources.contract import CannotFollow, Source
from ingress.sources.inventory import Inventory
from ingress.sources.kubernetes.api import ApiServer
from ingress.sources.kubernetes.credentials import CannotConnect
from ingress.sources.kubernetes.reflecting import ReflectorTimes
from ingress.sources.kubernetes.source import ClusterOptions, KubernetesSource
from ingress.translation.assembly import Translation, translate

# A burst of events has ended when none came for so long.
_QUIET_SECONDS = 0.05


async def check_cluster(
    kubeconfig: Path, context: TranslationContext, *, seconds: float, given: Collection[str] = ()
) -> Review:
    """The verdicts on a cluster. `context.ingress_class` is the class that is checked.

    `given` are fields of `context` that count before the arguments of a controller in the cluster. Raises
    `CannotFollow` if the kubeconfig is of no use, or the cluster is not known after `seconds`.
    """
    try:
        api = await ApiServer.connect(kubeconfig=kubeconfig)
    except CannotConnect as error:
        raise CannotFollow(f"--kubeconfig {kubeconfig}: {error}") from None
    try:
        asked = await ask_controller(api, context, seconds=seconds)
        controller = asked.controller
        if controller is not None:
            context = with_arguments(context, controller, asked.ports, given=given)
        options = ClusterOptions(configmap=context.configmap, namespaces=context.watch_namespaces, gateways=True)
        source = KubernetesSource(api, options, times=ReflectorTimes(), random=random.random)
        inventory, translation = await read_once(source, context, seconds=seconds)
    finally:
        await api.close()
    found = review(translation, inventory, context, origins={}, assumed=asked.unread)
    return found if controller is None else with_controller(found, controller, asked.ports, asked.service)


async def read_once(source: Source, context: TranslationContext, *, seconds: float) -> tuple[Inventory, Translation]:
    """What a source knows as soon as it knows all that a translation wants. Raises `CannotFollow` after `seconds`."""
    inventory, adoption = Inventory(), Adoption(context.ingress_class, context.controller_class)
    events = source.events()
    following = asyncio.ensure_future(anext(events))
    translation: Translation | None = None
    until = asyncio.get_running_loop().time() + seconds
    optional_until = until - seconds / 2  # an API server that says nothing about Gateway API must not end the check
    try:
        while asyncio.get_running_loop().time() < until:
            await asyncio.wait({following}, timeout=_QUIET_SECONDS)
            if following.done():
                inventory.apply(adoption.adopted(following.result()))
                following, translation = asyncio.ensure_future(anext(events)), None
            elif inventory.complete and (
                all(map(inventory.knows, OPTIONAL_KINDS)) or asyncio.get_running_loop().time() > optional_until
            ):
                known = msgspec.structs.replace(context, gateway_ports=ports_of(inventory))
                translation = translation or translate(inventory, known, now_epoch_seconds=time.time())
                if source.want(translation.wanted):
                    return inventory, translation
    finally:
        following.cancel()
        await asyncio.wait({following})
        await events.aclose()
    raise CannotFollow(f"the API server did not say everything within {seconds:g} s: see that it answers")
