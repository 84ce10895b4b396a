"""Commands that read a cluster or a folder understand its options alike."""

from __future__ import annotations

import re
from typing import Any

import pytest

from ingress.cli.cluster_options import context_of, gateway_ports_of
from ingress.cli.commands import run
from ingress.cli.explaining import explain
from ingress.cli.flags import BadInput


def given(*arguments: str) -> dict[str, Any]:
    """What `zonal run` understands of these arguments."""
    with run.make_context("run", list(arguments)) as context:
        return context.params


def test_explain_reads_the_cluster_by_the_options_of_run() -> None:
    names = {parameter.name for parameter in run.params} & {parameter.name for parameter in explain.params}
    meant = {"configmap", "controller_class", "ingress_class", "watch_ingress_without_class", "watch_namespace"}
    meant |= {"zone", "node_name", "pod_zone", "publish_service", "default_backend_service"}
    meant |= {"allow_local_endpoints", "allow_external_name", "enable_ssl_passthrough", "gateway_ports"}
    meant |= {"tcp_services_configmap", "udp_services_configmap"}
    meant |= {"one_namespace_per_hostname", "hooks"}
    assert names == meant | {"source"}
    defaults = {parameter.name: parameter.default for parameter in explain.params}
    for parameter in run.params:
        if parameter.name in names:
            assert parameter.default == defaults[parameter.name]


def test_both_commands_read_the_same_context() -> None:
    words = ["--zone", "zone-b", "--watch-namespace", "shop", "--ingress-class", "inner", "--gateway-ports", "80=8180"]
    with explain.make_context("explain", ["http://shop.test/", *words]) as asked:
        explained = context_of(asked.params)
    served = context_of(given(*words, "--source", "."))
    assert (explained.zone, explained.watch_namespaces, explained.ingress_class) == ("zone-b", ("shop",), "inner")
    assert explained.gateway_ports == served.gateway_ports == ((80, "8180"),)
    assert (served.http_port, explained.http_port) == (8080, 0)


def test_services_of_gateways_are_for_a_cluster() -> None:
    ports = ("--gateway-ports", "20000-20003", "--pod-namespace", "edge")
    assert context_of(given(*ports, "--source", "kubernetes")).gateway_services is not None
    assert context_of(given(*ports, "--source", ".")).gateway_services is None


def test_ports_that_cannot_be_read_are_said_with_their_option() -> None:
    with pytest.raises(BadInput, match=re.escape("--gateway-ports ")):
        gateway_ports_of("twenty")
