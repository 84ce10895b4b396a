"""Classes of our controller are ours, and their parameters are ConfigMaps."""

from __future__ import annotations

from ingress.objects.gateway_references import ObjectReference
from ingress.translation.gateway.classes import class_standing, needed_parameters, our_classes, parameters_problem
from tests.unit.ingress.cluster import config_map, inventory
from tests.unit.ingress.translation.gateway.objects import CONTROLLER, gateway, gateway_class, read

PARAMETERS = {"group": "", "kind": "ConfigMap", "name": "zonal"}


def test_only_classes_of_our_controller_are_ours() -> None:
    known = inventory(gateway_class(), read("GatewayClass", "theirs", controllerName="example.net/other"))
    assert list(our_classes(known, CONTROLLER)) == ["zonal"]


def test_parameters_have_to_exist() -> None:
    known, reference = inventory(config_map("infra", "zonal")), ObjectReference("zonal", "", "ConfigMap")
    assert parameters_problem(None, "infra", known) is None
    assert parameters_problem(reference, "infra", known) is None
    for other, namespace in ((reference, "shop"), (ObjectReference("zonal", "x", "ConfigMap"), "infra")):
        problem = parameters_problem(other, namespace, known)
        assert problem is not None
        assert problem.reason == "InvalidParameters"


def test_a_class_says_what_is_supported() -> None:
    status = class_standing(gateway_class(), inventory()).status
    names = [each.name for each in getattr(status, "supported_features", ())]
    assert names[:2] == ["BackendTLSPolicy", "BackendTLSPolicySANValidation"]
    assert (status.conditions[0].status, status.conditions[0].observed_generation) == ("True", 3)  # type: ignore[union-attr]


def test_parameters_of_a_gateway_and_its_class_are_needed() -> None:
    item = gateway(infrastructure={"parametersRef": PARAMETERS})
    owner = read("GatewayClass", "zonal", parametersRef={**PARAMETERS, "namespace": "zonal"})
    assert needed_parameters(item, owner) == (("infra", "zonal"), ("zonal", "zonal"))
