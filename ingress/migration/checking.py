"""Checks a dump: runs the real translation on it, with the class of the other controller read as ours.

Reads the dump and supposes what it leaves out. Does not know flags, nor how the verdicts are printed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from ingress.migration.adopting import Adoption
from ingress.migration.arguments import PORTS, PortLines, argument_findings, argument_reviews, with_arguments
from ingress.migration.assuming import SUPPOSED, secrets_for, services_for, slices_for
from ingress.migration.controllers import OtherController, find_controllers, find_service
from ingress.migration.gateway.checked import ports_of
from ingress.migration.judging import review
from ingress.migration.services import name_of, service_reviews
from ingress.migration.verdicts import ControllerReview, Review
from ingress.objects.kinds import ConfigMap, Ingress, Kind, Service, key_of
from ingress.settings.context import TranslationContext
from ingress.sources.dumps import Dump, read_dump
from ingress.sources.events import Replaced, Upserted
from ingress.sources.inventory import Inventory
from ingress.translation.assembly import Translation, translate

# What the annotations of one Secret name is known after a translation, so this many come to an end.
_TRANSLATIONS_MOST = 4


def check_dump(
    place: Path, context: TranslationContext, *, now_epoch_seconds: float, given: Collection[str] = ()
) -> Review:
    """The verdicts on a folder or file. `context.ingress_class` is the class that is checked.

    `now_epoch_seconds` decides which certificates have expired. `given` are fields of `context` that count before the
    arguments of a controller in the dump. Raises `FolderUnreadable`.
    """
    dump = read_dump(place)
    known, controller = as_today(place, dump, context, given=given)
    found = judged_dump(dump, known, now_epoch_seconds=now_epoch_seconds)
    if controller is None:
        return found
    return with_controller(found, controller, _port_lines(dump, controller), find_service(place, controller))


def with_controller(
    found: Review, controller: OtherController, ports: PortLines, service: Mapping[str, Any] | None
) -> Review:
    """`found` with what becomes of a controller. `service` leads clients to it."""
    reviewed = ControllerReview(
        kind=controller.kind,
        namespace=controller.namespace,
        name=controller.name,
        file=controller.file,
        arguments=argument_reviews(controller, ports),
        service=name_of(service) if service is not None else "",
        service_fields=service_reviews(service) if service is not None else (),
    )
    others = (*found.others, *argument_findings(controller))
    return msgspec.structs.replace(found, controller=reviewed, others=others)


def serving(controllers: Iterable[OtherController], context: TranslationContext) -> OtherController | None:
    """The first controller that serves the class of `context`."""
    return next((each for each in controllers if each.get("ingress-class") in {"", context.ingress_class}), None)


def as_today(
    place: Path, dump: Dump, context: TranslationContext, *, given: Collection[str] = ()
) -> tuple[TranslationContext, OtherController | None]:
    """`context` with the arguments of the controller that serves its class, and that controller.

    The controller is None if `dump`, which was read at `place`, has none. `given` are fields of `context` that count
    before its arguments.
    """
    controller = serving(find_controllers(place), context)
    if controller is None:
        return context, None
    return with_arguments(context, controller, _port_lines(dump, controller), given=given), controller


def _port_lines(dump: Dump, controller: OtherController) -> PortLines:
    known = {
        "/".join(key_of(each)): each.data
        for event in dump.events
        for each in (event.objects if isinstance(event, Replaced) else ())
        if isinstance(each, ConfigMap)
    }
    return PortLines(*(known.get(controller.get(name)) for name in PORTS))


def judged_dump(dump: Dump, context: TranslationContext, *, now_epoch_seconds: float) -> Review:
    """The verdicts on what was read."""
    inventory, translation = translated_dump(dump, context, now_epoch_seconds=now_epoch_seconds)
    assumed = tuple(sentence for kind, sentence in SUPPOSED.items() if kind in dump.missing)
    knows = Kind.ENDPOINT_SLICE not in dump.missing
    return review(translation, inventory, context, origins=dump.origins, assumed=assumed, knows_slices=knows)


def translated_dump(
    dump: Dump, context: TranslationContext, *, now_epoch_seconds: float
) -> tuple[Inventory, Translation]:
    """The objects of a dump and what is supposed beside them, and what zonal makes of them."""
    inventory = Inventory()
    adoption = Adoption(context.ingress_class, context.controller_class)
    for event in dump.events:
        inventory.apply(adoption.adopted(event))
    context = msgspec.structs.replace(context, gateway_ports=ports_of(inventory))
    _suppose_services(dump, inventory)
    return inventory, _translated(dump, inventory, context, now_epoch_seconds=now_epoch_seconds)


def _suppose_services(dump: Dump, inventory: Inventory) -> None:
    services = [item for event in dump.events if isinstance(event, Replaced) for item in event.objects]
    known = [item for item in services if isinstance(item, Service)]
    if Kind.SERVICE in dump.missing:
        known = [*services_for(inventory.of(Ingress))]
        inventory.apply(Replaced(Kind.SERVICE, tuple(known)))
    if Kind.ENDPOINT_SLICE in dump.missing:
        inventory.apply(Replaced(Kind.ENDPOINT_SLICE, slices_for(known)))


def _translated(
    dump: Dump, inventory: Inventory, context: TranslationContext, *, now_epoch_seconds: float
) -> Translation:
    translation = translate(inventory, context, now_epoch_seconds=now_epoch_seconds)
    if Kind.SECRET not in dump.missing:
        return translation
    for _ in range(_TRANSLATIONS_MOST):
        wanted = [key for key in translation.wanted.secrets if inventory.secret(*key) is None]
        if not wanted:
            break
        for secret in secrets_for(wanted, inventory.of(Ingress)):
            inventory.apply(Upserted(secret))
        translation = translate(inventory, context, now_epoch_seconds=now_epoch_seconds)
    return translation
