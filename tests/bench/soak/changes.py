"""The cluster of the soak as a manifest folder, and what changes in it each second.

Responsible for the objects. Whatever is changed, each request of `clients` keeps an answer that it may expect.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence
from pathlib import Path

import trustme

from tests.bench.soak.endpoints import Endpoint
from tests.features.faults.load import HOST
from tests.integration.manifests import (
    ManifestFolder,
    config_map,
    endpoint_slice,
    ingress,
    ingress_class,
    path,
    rule,
    service,
    tls_secret,
)

TRANSIENT_HOST = "transient.test"
"""A host that is there and is not, with an Ingress called `TRANSIENT`."""

TRANSIENT = "transient"
FLIPPED = "flipped"
FLIPPED_PATH = "/flipped"
"""A path that leads to one Service or to the other, by an Ingress called `FLIPPED`."""

PASSING = (TRANSIENT, FLIPPED)
"""The Ingresses whose series in `/metrics` do not last."""

APP_ENDPOINTS = 4
_CERTIFICATES = 8
_POLICIES = ("off", "prefer-zone", "proportional", "adaptive")


class Cluster:
    """The folder. `change` does one thing after the other; the same seed does the same."""

    def __init__(self, place: Path, app: Sequence[Endpoint], flipped: Sequence[Endpoint], *, seed: int) -> None:
        self.folder = ManifestFolder(place)
        self.authority = trustme.CA()
        self._app = app
        self._flipped = flipped
        self._random = random.Random(seed)
        self._renewals = itertools.cycle([self._certificate() for _ in range(_CERTIFICATES)])
        self._policies = itertools.cycle(_POLICIES)
        self._seconds = itertools.count(30)
        self._steps = itertools.cycle(
            (self._endpoints, self._flip, self._annotation, self._renew, self._transient, self._policy)
        )
        self._leads_to, self._is_there = 0, True
        folder = self.folder
        folder.write("class.yaml", ingress_class())
        folder.write("services.yaml", service("app"), *(service(each.service) for each in flipped))
        folder.write("flipped-slices.yaml", *map(endpoint_slice, flipped))
        folder.write("slices.yaml", *map(endpoint_slice, app))
        for _ in range(6):
            self.change()

    def change(self) -> None:
        """Save one change."""
        next(self._steps)()

    def _endpoints(self) -> None:
        ready = self._random.sample(self._app, self._random.randint(1, len(self._app)))
        self.folder.write("slices.yaml", *map(endpoint_slice, ready))

    def _flip(self) -> None:
        self._leads_to = 1 - self._leads_to
        name = self._flipped[self._leads_to].service
        self.folder.write("flipped.yaml", ingress(FLIPPED, rule(HOST, path(FLIPPED_PATH, name))))

    def _annotation(self) -> None:
        self.folder.write(
            "web.yaml",
            ingress(
                "web",
                rule(HOST, path("/", "app")),
                tls=[{"hosts": [HOST], "secretName": "web"}],
                annotations={"nginx.ingress.kubernetes.io/proxy-read-timeout": f"{next(self._seconds) % 3600 + 1}"},
            ),
        )

    def _renew(self) -> None:
        chain, key = next(self._renewals)
        self.folder.write("secret.yaml", tls_secret("web", chain=chain, key=key))

    def _transient(self) -> None:
        self._is_there = not self._is_there
        present = [ingress(TRANSIENT, rule(TRANSIENT_HOST, path("/", "app")))] if self._is_there else []
        self.folder.write("transient.json", *present)

    def _policy(self) -> None:
        self.folder.write(
            "settings.yaml",
            config_map(
                ssl_redirect="false",
                proxy_body_size="0",
                upstream_keepalive_timeout="2",
                zone_policy=next(self._policies),
            ),
        )

    def _certificate(self) -> tuple[bytes, bytes]:
        issued = self.authority.issue_cert(HOST)
        return b"".join(part.bytes() for part in issued.cert_chain_pems), issued.private_key_pem.bytes()
