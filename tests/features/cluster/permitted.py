"""What deploy/ grants, as rules of the test API server, and a process that is started as deploy/ starts it.

Responsible for the way from the rendered objects to a running process, and for a cluster in which every permission is
of use. It must not know which permissions there are.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tests.fakes.apiserver import Call
from tests.features.cluster.certificates import certified
from tests.features.cluster.documents import endpoints, node
from tests.features.cluster.stage import HOST, Stage
from tests.features.deploying.finding import container, of_kind
from tests.features.deploying.permissions import Grant
from tests.features.deploying.rendering import Document
from tests.integration.manifests import endpoint_slice, ingress, ingress_class, path, rule, service
from tests.integration.running import Zonal

NODE, LATE_NODE = "node-1", "node-2"
LABELS = {"app.kubernetes.io/name": "zonal", "app.kubernetes.io/instance": "zonal"}

_PROCESS = (
    *("--source", "--admin-address", "--shutdown-grace-period", "--drain-timeout", "--webhook", "--access-log"),
    "--workers",  # they never ask the API server: test_cluster_workers
)
"""Options that are no matter of the API server, or differ on a test's machine."""


def rules(objects: Iterable[Document], *, without: str = "") -> list[Document]:
    """The rules of every role but one, each with its role's namespace."""
    roles = [role for role in of_kind(objects, "Role", "ClusterRole") if role["metadata"]["name"] != without]
    return [{**each, "namespace": role["metadata"].get("namespace", "")} for role in roles for each in role["rules"]]


def arguments(objects: Iterable[Document]) -> list[str]:
    """The options of the container that have to do with the API server."""
    _, *given = container(objects)["args"]
    return [text for text in given if not text.startswith(_PROCESS)]


def is_use(call: Call, grant: Grant, name: str = "") -> bool:
    """Whether a call was answered because of a grant; `name` is one of its names, if it has any."""
    resource = f"{call.group}/{call.resource}" if call.group else call.resource
    resource += f"/{call.subresource}" if call.subresource else ""
    return (
        (resource, call.verb) == (grant.resource, grant.verb)
        and grant.namespace in ("", call.namespace)
        and name in ("", call.name)
        and call.status not in (0, 403)
    )


def unused(granted: Sequence[Grant], calls: Sequence[Call]) -> list[tuple[Grant, str]]:
    """Grants, with one of their names, that no call needed."""
    return [
        (grant, name)
        for grant in granted
        for name in grant.names or ("",)
        if not any(is_use(call, grant, name) for call in calls)
    ]


def _replica_pod(name: str) -> Document:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "zonal", "labels": LABELS},
        "spec": {"nodeName": NODE, "containers": [{"name": "zonal", "image": "zonal"}]},
        "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]},
    }


def _own_service() -> Document:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "zonal", "namespace": "zonal"},
        "spec": {"type": "LoadBalancer", "ports": [{"port": 80, "name": "http"}]},
        "status": {"loadBalancer": {"ingress": [{"ip": "203.0.113.7"}]}},
    }


def _asked_with_fields_of(name: str) -> Document:
    """An Ingress whose auth service is asked with the fields of a ConfigMap."""
    document = ingress("asked", rule("asked.test", path("/", "cart")))
    document["metadata"]["annotations"] = {
        "nginx.ingress.kubernetes.io/auth-url": "http://auth.example.com/",
        "nginx.ingress.kubernetes.io/auth-proxy-set-headers": name,
    }
    return document


async def furnish(stage: Stage) -> None:
    """Store a cluster for which each permission is needed: certificates, two namespaces, nodes, pods, a mistake."""
    cart = await stage.endpoint(zone="zone-a")
    away = await stage.endpoint(zone="zone-b")
    stage.settings(zone_aware_routing="true")
    addresses = [{"type": "ExternalIP", "address": "203.0.113.7"}]
    stage.put(ingress_class(), {**node(NODE, zone="zone-a"), "status": {"addresses": addresses}})
    stage.put(_replica_pod("zonal-0"), _own_service())
    stage.put(service("cart"), endpoint_slice(cart), endpoint_slice(away))
    stage.put(service("cart", namespace="blog"), endpoint_slice(cart, namespace="blog"))
    tls = [{"hosts": [f"{name}.test"], "secretName": name} for name in ("shop-tls", "cart-tls")]
    hosts = ("shop-tls.test", "cart-tls.test")
    stage.put(*(certified(name, f"{name}.test") for name in ("shop-tls", "cart-tls")))
    stage.put(ingress("web", *(rule(host, path("/", "cart")) for host in hosts), tls=tls))
    stage.put(ingress("plain", rule(HOST, path("/", "cart"))))
    stage.put(_asked_with_fields_of("auth-fields"))
    stage.put({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": "shop", "name": "auth-fields"}})
    stage.put(ingress("blog", rule("blog.test", path("/", "cart")), namespace="blog"))
    for namespace in ("shop", "blog"):
        stage.put(ingress("broken", rule(f"broken-{namespace}.test", path("/", "nowhere")), namespace=namespace))


async def started(stage: Stage, objects: Sequence[Document]) -> Zonal:
    """A process as the Deployment starts it, on a Node whose name it is told."""
    return await stage.ready(*arguments(objects), environment={"NODE_NAME": NODE})


def name_a_late_node(stage: Stage) -> None:
    """Another node comes, and an endpoint that only it tells the zone of."""
    stage.put(node(LATE_NODE, zone="zone-c"))
    stage.put(endpoints("late", "cart", port=9, addresses=["127.0.1.1"], nodes=[LATE_NODE]))
