"""Aliases of Gateways: Services in their namespaces that stand for the names of their own Services."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from ingress.objects.converting import decode
from ingress.objects.kinds import Service
from ingress.settings.gateway_ports import GatewayServices
from ingress.translation.gateway.own_ports import Exposure
from ingress.translation.gateway.register import service_name
from ingress.writing.gateway.aliases import due_aliases, gateway_aliased
from ingress.writing.gateway.services import GATEWAY_LABEL, ServiceWrite

GATEWAY = ("infra", "gw")
OPTIONS = GatewayServices("zonal", (20000,), cluster_domain="cluster.test")
ASKED = Exposure(GATEWAY, labels={"team": "web"}, annotations={"note": "x"})


def made(exposure: Exposure = ASKED) -> ServiceWrite:
    (write,) = due_aliases([exposure], [], OPTIONS)
    return write


def alias(write: ServiceWrite, **metadata: Any) -> Service:
    document: Any = msgspec.json.decode(write.body)
    own = {**document["metadata"], "namespace": "infra", "resourceVersion": "7", "uid": "u", **metadata}
    service = decode({**document, "metadata": own})
    assert isinstance(service, Service)
    return service


def test_an_alias_leads_to_the_service_and_has_what_the_gateway_asks_for() -> None:
    write = made()
    document: Any = msgspec.json.decode(write.body)
    assert (write.verb, write.path) == ("POST", "/api/v1/namespaces/infra/services")
    assert document["spec"] == {
        "type": "ExternalName",
        "externalName": f"{service_name(GATEWAY)}.zonal.svc.cluster.test",
    }
    assert document["metadata"]["labels"] == {"team": "web", GATEWAY_LABEL: "gw"}
    assert document["metadata"]["annotations"]["note"] == "x"
    assert gateway_aliased(alias(write)) == GATEWAY


def test_nothing_is_due_where_it_is_as_it_should_be() -> None:
    assert due_aliases([ASKED], [alias(made())], OPTIONS) == ()


def test_a_change_takes_away_what_is_no_longer_asked_for() -> None:
    (write,) = due_aliases([Exposure(GATEWAY)], [alias(made())], OPTIONS)
    document: Any = msgspec.json.decode(write.body)
    assert (write.verb, write.path) == ("PATCH", f"/api/v1/namespaces/infra/services/{service_name(GATEWAY)}")
    assert (document["metadata"]["labels"]["team"], document["metadata"]["annotations"]["note"]) == (None, None)


def test_the_gateway_owns_its_alias_and_one_made_anew_owns_it_as_well() -> None:
    write = made(Exposure(GATEWAY, uid="g1"))
    document: Any = msgspec.json.decode(write.body)
    owner = {"apiVersion": "gateway.networking.k8s.io/v1", "kind": "Gateway", "name": "gw", "uid": "g1"}
    assert document["metadata"]["ownerReferences"] == [owner]
    assert due_aliases([Exposure(GATEWAY, uid="g1")], [alias(write)], OPTIONS) == ()
    (patch,) = due_aliases([Exposure(GATEWAY, uid="g2")], [alias(write)], OPTIONS)
    changed: Any = msgspec.json.decode(patch.body)
    assert (patch.verb, changed["metadata"]["ownerReferences"]) == ("PATCH", [{**owner, "uid": "g2"}])


def test_an_alias_that_was_changed_by_hand_leads_back() -> None:
    known = alias(made())
    elsewhere = msgspec.structs.replace(known, spec=msgspec.structs.replace(known.spec, external_name="bad.test"))
    (write,) = due_aliases([ASKED], [elsewhere], OPTIONS)
    assert write.verb == "PATCH"


def test_it_goes_with_its_gateway_or_with_the_option() -> None:
    for exposures, options in (([], OPTIONS), ([ASKED], GatewayServices("zonal", (20000,)))):
        (write,) = due_aliases(exposures, [alias(made())], options)
        assert (write.verb, write.document) == ("DELETE", {"preconditions": {"uid": "u", "resourceVersion": "7"}})


@pytest.mark.parametrize("said", [{}, {"zonal-ingress.io/alias-of": "other/gw"}, {"zonal-ingress.io/alias-of": "gw"}])
def test_a_service_of_somebody_else_stays_as_it_is(said: dict[str, str]) -> None:
    other = alias(made(), annotations=said)
    assert due_aliases([ASKED], [other], OPTIONS) == ()
    assert due_aliases([], [other], OPTIONS) == ()


def test_in_the_namespace_of_the_services_none_is_needed() -> None:
    assert due_aliases([Exposure(("zonal", "gw"))], [], OPTIONS) == ()
