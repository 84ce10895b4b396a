"""Makes the standings of Gateways, ListenerSets and routes from what was read of them. Decides nothing itself."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from ingress.objects.gateway import Gateway, ListenerSet
from ingress.translation.gateway.client_validation import validation_of
from ingress.translation.gateway.listeners import ReadListener
from ingress.translation.gateway.route_reading import ReadParent, ReadRoute
from ingress.translation.gateway.standings import (
    Address,
    GatewayStatus,
    ListenerSetStatus,
    ListenerStanding,
    ObjectStanding,
    ParentStanding,
    Problem,
    RouteStatus,
    StatusCondition,
    SupportedKind,
    condition,
    parent_name,
    standing_of,
)

_PENDING = Problem("Invalid", "The Gateway is not accepted: see its condition Accepted.")


def gateway_standing(
    item: Gateway,
    listeners: Sequence[ReadListener],
    attached: Counter[str],
    *,
    refused: Problem | None,
    unresolved: Problem | None,
    sets: int,
    addresses: tuple[Address, ...] = (),
    unaddressed: Problem | None = None,
) -> ObjectStanding:
    """The standing of a Gateway with its own `listeners`.

    `attached` counts accepted routes by the key of a listener. `refused` is what is wrong with the Gateway itself,
    `unresolved` a reference of its TLS that cannot be followed. `sets` is the number of ListenerSets. `unaddressed` is
    why clients do not reach it at the `addresses` that it asks for.
    """
    generation = item.metadata.generation
    invalid = listeners_problem(listeners)
    none_left = refused or (invalid if not any(is_valid(each) for each in listeners) and listeners else None)
    conditions = [
        _accepted(none_left, invalid, generation, said="The Gateway is served."),
        condition("Programmed", _PENDING if none_left else unaddressed, generation, said="The Gateway is served."),
    ]
    unresolved = unresolved or _references_problem(listeners)
    conditions.append(condition("ResolvedRefs", unresolved, generation, said="Every reference was found."))
    insecure = [each.spec.port for each in listeners if _is_insecure(item, each.spec.port)]
    if insecure:
        message = f"Clients of port {insecure[0]} need no valid certificate."
        conditions.append(
            StatusCondition("InsecureFrontendValidationMode", "True", "ConfigurationChanged", message, generation)
        )
    standings = tuple(listener_standing(each, attached, generation, closed=refused is not None) for each in listeners)
    return standing_of(item, GatewayStatus(tuple(conditions), standings, sets, addresses))


def listener_set_standing(
    item: ListenerSet,
    listeners: Sequence[ReadListener],
    attached: Counter[str],
    *,
    refusal: tuple[Problem, Problem] | None,
) -> ObjectStanding:
    """The standing of a ListenerSet.

    `refusal` is why its Gateway does not take it, in the words of the conditions Accepted and Programmed.
    """
    refused, unprogrammed = refusal or (None, None)
    generation = item.metadata.generation
    valid = [each for each in listeners if is_valid(each)]
    invalid = listeners_problem(listeners)
    none_left = None if valid else invalid
    pending = valid[0].pending if valid and all(each.pending for each in valid) else None
    conditions = (
        _accepted(refused or none_left, invalid, generation, said="The listeners are served."),
        condition("Programmed", unprogrammed or none_left or pending, generation, said="The listeners are served."),
    )
    if refused is not None:
        return standing_of(item, ListenerSetStatus(conditions))
    standings = tuple(listener_standing(each, attached, generation, closed=False) for each in listeners)
    return standing_of(item, ListenerSetStatus(conditions, standings))


def _accepted(refused: Problem | None, invalid: Problem | None, generation: int, *, said: str) -> StatusCondition:
    """Whether an object with listeners is accepted. With some `invalid` ones it is, for that reason."""
    if refused is None and invalid is not None:
        return StatusCondition("Accepted", "True", invalid.reason, invalid.message, generation)
    return condition("Accepted", refused, generation, said=said)


def listener_standing(item: ReadListener, attached: Counter[str], generation: int, *, closed: bool) -> ListenerStanding:
    """The standing of one listener. `closed`: its whole Gateway is not served."""
    refused = item.conflict or item.refused
    unprogrammed = refused
    if unprogrammed is None and (closed or not item.serves):
        unprogrammed = Problem("Invalid", "The listener is not served: see its other conditions and the Gateway's.")
    unprogrammed = unprogrammed or item.pending
    conflicted = StatusCondition("Conflicted", "False", "NoConflicts", "Nothing is in its way.", generation)
    if item.conflict is not None:
        reason, message = item.conflict.reason, item.conflict.message
        conflicted = StatusCondition("Conflicted", "True", reason, message, generation)
    conditions = [
        condition("Accepted", refused, generation, said="The listener is served."),
        conflicted,
        condition("Programmed", unprogrammed, generation, said="The listener is served."),
        condition("ResolvedRefs", item.unresolved, generation, said="Every reference was found."),
    ]
    if item.overlaps:
        said = f"Some of its names are also those of {item.overlaps}: a request on a connection of the other gets 421."
        conditions.append(StatusCondition("OverlappingTLSConfig", "True", "OverlappingHostnames", said, generation))
    kinds = tuple(map(SupportedKind, item.kinds))
    return ListenerStanding(item.spec.name, kinds, attached[item.key], tuple(conditions))


def is_valid(item: ReadListener) -> bool:
    """Whether the listener can be served."""
    return item.conflict is None and item.refused is None and item.serves


def listeners_problem(listeners: Sequence[ReadListener]) -> Problem | None:
    """The problem that some listeners cannot be served, in words; None if all can."""
    names = [each.spec.name for each in listeners if not is_valid(each)]
    if not names:
        return None
    return Problem("ListenersNotValid", f"The listeners {', '.join(names)} cannot be served: see their conditions.")


def _references_problem(listeners: Sequence[ReadListener]) -> Problem | None:
    """The problem that references of some listeners cannot be followed, in words; None if all can."""
    names = [each.spec.name for each in listeners if each.unresolved is not None]
    if not names:
        return None
    said = f"References of the listeners {', '.join(names)} cannot be followed: see their conditions."
    return Problem("ListenersNotResolved", said)


def route_standing(item: ReadRoute, controller: str) -> ObjectStanding:
    """The standing of a route."""
    namespace = item.route.metadata.namespace
    parents = tuple(
        ParentStanding(parent_name(each.reference, namespace), controller, _route_conditions(item, each))
        for each in item.parents
    )
    return standing_of(item.route, RouteStatus(parents))


def _route_conditions(item: ReadRoute, parent: ReadParent) -> tuple[StatusCondition, ...]:
    generation = item.route.metadata.generation
    refused = parent.refused or item.refused
    conditions = [
        condition("Accepted", refused, generation, said="The route is attached."),
        condition("ResolvedRefs", item.unresolved, generation, said="Every reference was found."),
    ]
    if item.dropped and refused is None:
        said = " ".join(f"Dropped Rule {each}: {item.dropped[each]}" for each in sorted(item.dropped))
        conditions.insert(1, StatusCondition("PartiallyInvalid", "True", "UnsupportedValue", said, generation))
    return tuple(conditions)


def _is_insecure(gateway: Gateway, port: int) -> bool:
    said = validation_of(gateway, port)
    return said is not None and said.mode == "AllowInsecureFallback"
