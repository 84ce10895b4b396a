"""Hostile tenants who harm with manifests alone: hundreds of ConfigMaps, thousands of paths, names, wrong values.

Responsible for their manifests, which change all the time. Requests are not their weapon.
"""

from __future__ import annotations

from ingress.settings.table.whole import INGRESS_OPTIONS
from tests.bench.chaos.actors import Actor, Turn
from tests.bench.chaos.ground import Ground, site
from tests.integration.manifests import Document, ingress, path, rule

_NAMESPACE = "aaa"
"""First by name, where names decide."""

_CONFIG_MAPS = 200
_PATHS = 2_000
_ANNOTATIONS = 12
_PREFIX = "nginx.ingress.kubernetes.io/"
_VALUES = (
    *("true", "false", "on", "off", "", "-1", "0", "99999999999999999999", "1e9", "5s", "10m", "GET", "http://"),
    *("$host", "$1", "${x}", "(", "(a*)*b", "~*^", "a b", "a,b", "x" * 3_000, "\x00", "é", "127.0.0.1", "::/0"),
    *("namespace/name", "/", "//", "basic", "digest", "cookie", "https://$host/$request_uri", "401 403", "\r\nX: y"),
)
_LONG_LABELS = (
    "a" * 64 + ".test",
    "a." * 130 + "test",
    "-.test",
    "xn--" + "z" * 60,
    "127.0.0.1",
    "localhost",
    "é.test",
)


class TenantsOfManifests:
    """Four namespaces."""

    def __init__(self, ground: Ground) -> None:
        self._ground = ground

    def actors(self) -> tuple[Actor, ...]:
        return (
            Actor("ConfigMap names", "tenant", self.config_maps, pause_seconds=10.0),
            Actor("external names", "tenant", self.external_names, pause_seconds=2.0),
            Actor("thousands of paths", "tenant", self.paths, pause_seconds=10.0),
            Actor("wrong annotations", "tenant", self.annotations, pause_seconds=0.7),
        )

    async def config_maps(self, turn: Turn) -> None:
        """Two hundred names, none of which is there."""
        first = turn.dice.randrange(1000)
        names = [f"{_NAMESPACE}-{number}" for number in range(first, first + _CONFIG_MAPS)]
        self._ground.write(
            _NAMESPACE, *(self._ingress(_NAMESPACE, name, {"auth-proxy-set-headers": name}) for name in names)
        )
        turn.count("changes")

    async def external_names(self, turn: Turn) -> None:
        """A Service that leads to a name that no DNS can hold."""
        web, service, *_ = site("outside", [])
        service["spec"] |= {"type": "ExternalName", "externalName": turn.dice.choice(_LONG_LABELS)}
        self._ground.write("outside", web, service)
        turn.count("changes")

    async def paths(self, turn: Turn) -> None:
        """Other paths each time, or none."""
        first = turn.dice.randrange(10**6)
        paths = [path(f"/{first}/{number}", "app") for number in range(turn.dice.choice((1, _PATHS)))]
        self._ground.write("paths", *site("paths", [self._ground.honest], paths=paths))
        turn.count("changes")

    async def annotations(self, turn: Turn) -> None:
        """A dozen options with values that may mean anything."""
        chosen = turn.dice.sample(sorted(INGRESS_OPTIONS), _ANNOTATIONS)
        documents = site("wrong", [self._ground.honest])
        documents[0]["metadata"]["annotations"] = {name: turn.dice.choice(_VALUES) for name in chosen}
        self._ground.write("wrong", *documents)
        turn.count("changes")

    @staticmethod
    def _ingress(namespace: str, name: str, options: dict[str, str]) -> Document:
        said = {_PREFIX + key: text for key, text in {"auth-url": "http://127.0.0.1:9/auth", **options}.items()}
        return ingress(name, rule(f"{name}.test", path("/", "app")), namespace=namespace, annotations=said)
