"""No class has more attributes than a reader keeps in mind, but for those that say why, and none of the data plane that
does something leaves methods to its subclass.
"""

from __future__ import annotations

import ast

import pytest

from tests.unit.sources import SOURCES, class_outline, is_within, outline, parsed, statements

ATTRIBUTES_MOST = 16

_CONNECTION = "one object for each connection: a part of its own would take memory while the connection is idle"
_REQUEST = "one object for each request: a part of its own would cost each request as much as making it"
_PROCESS = "what one process consists of, made once; each attribute is a part of its own"

WITH_MORE = {
    ("balancer.http1.connection", "ClientConnection"): _CONNECTION,
    ("balancer.http1.endpoint", "EndpointConnection"): _CONNECTION,
    ("balancer.http1.request_stream", "Http1RequestStream"): _CONNECTION,
    ("balancer.http2.client", "Http2Connection"): _CONNECTION,
    ("balancer.http2.client_stream", "Http2RequestStream"): _REQUEST,
    ("balancer.http2.endpoint", "Http2EndpointConnection"): _CONNECTION,
    ("balancer.live", "View"): "what requests take once, worked out at the swap: a look-up less for each of them",
    (
        "balancer.matching.destinations",
        "Destination",
    ): "what requests need of their branch, worked out at the swap: a look-up less for each of them",
    ("balancer.picking.backend", "BackendRuntime"): "what a pick needs of its backend, without a step more",
    ("balancer.proxy.account", "Account"): _REQUEST,
    ("balancer.relays.relay", "Relay"): _CONNECTION,
    ("balancer.runtime.outlets", "Outlet"): _CONNECTION,
    ("balancer.runtime.tls", "TlsTransport"): _CONNECTION,
    ("balancer.workers.process", "WorkerProcess"): _PROCESS,
    ("balancer.workers.supervised", "Supervised"): _PROCESS,
    ("balancer.workers.supervisor", "ProcessFleet"): _PROCESS,
    ("balancer.workers.worker", "Worker"): _PROCESS,
    ("balancer.zones.adaptive", "SpillController"): "the state of one controller, which one function moves on",
    ("ingress.cluster", "Cluster"): _PROCESS,
    ("ingress.following.controller", "Controller"): _PROCESS,
}
"""Classes with more attributes, and why they are not cut."""


def test_no_class_has_more_attributes_without_a_reason() -> None:
    large = {
        (module, each.name)
        for module, path in SOURCES.items()
        for each in outline(path).classes
        if len(each.attributes) > ATTRIBUTES_MOST
    }
    assert large - WITH_MORE.keys() == set(), "cut the class, or say why not"
    assert WITH_MORE.keys() - large == set(), "these need no reason any more"


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ('class A:\n    __slots__ = ("x", "y")', {"x", "y"}),
        ('class A:\n    __slots__ = ("x",)\n    def f(self):\n        self.x = self.z = 1', {"x", "z"}),
        ("class A:\n    def f(self, other):\n        other.y = 1\n        self.x, a = 1, 2", {"x"}),
    ],
)
def test_attributes_are_found(text: str, names: set[str]) -> None:
    (node,) = ast.parse(text).body
    assert isinstance(node, ast.ClassDef)
    assert class_outline(node).attributes == names


def unfilled(node: ast.ClassDef) -> set[str]:
    """The methods that only a subclass fills, of a class that has a state of its own."""
    methods = {each.name: each for each in node.body if isinstance(each, ast.FunctionDef)}
    raising = {name for name, each in methods.items() if "raise NotImplementedError" in map(ast.unparse, each.body)}
    return raising if "__init__" in methods else set()


def test_no_class_with_a_state_of_its_own_leaves_methods_to_its_subclass() -> None:
    """Who reads such a class cannot know what it does. It is handed what it needs; interfaces have no state to set."""
    found = {
        f"{module}.{node.name}": names
        for module, path in SOURCES.items()
        if is_within(module, "balancer")
        for node in statements(parsed(path))
        if isinstance(node, ast.ClassDef) and (names := unfilled(node))
    }
    assert found == {}


@pytest.mark.parametrize(
    ("own", "names"), [("def __init__(self): ...", {"f"}), ("__slots__ = ()", set()), ("def g(self): ...", set())]
)
def test_methods_that_are_left_to_subclasses_are_found(own: str, names: set[str]) -> None:
    text = f'class A:\n    {own}\n    def f(self):\n        """Does it."""\n        raise NotImplementedError'
    (node,) = ast.parse(text).body
    assert isinstance(node, ast.ClassDef)
    assert unfilled(node) == names
