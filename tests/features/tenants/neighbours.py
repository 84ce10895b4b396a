"""Two tenants behind one process: one who takes what it can get, and one who must not notice."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import wraps
from pathlib import Path
from typing import NamedTuple

from tests.features.faults.load import HOST, Load
from tests.features.faults.stage import Addressed, slice_of
from tests.integration.manifests import (
    Document,
    ManifestFolder,
    config_map,
    ingress,
    ingress_class,
    path,
    rule,
    service,
)
from tests.integration.running import Zonal, running

_SETTINGS = {"ssl_redirect": "false", "proxy_body_size": "0"}
_PREFIX = "nginx.ingress.kubernetes.io/"

_NOISE_SECONDS = 0.05
"""The 99th percentile that a busy machine of two cores shows beside no neighbour at all."""


class Tenant(NamedTuple):
    """A namespace with one Ingress, served at the path `/name` of the host of `load.HOST`.

    Keys of `annotations` are written without the prefix of ingress-nginx. `objects` are documents beside the Ingress.
    """

    name: str
    endpoints: Sequence[Addressed]
    annotations: Mapping[str, str] = {}
    objects: Sequence[Document] = ()

    @property
    def prefix(self) -> str:
        return f"/{self.name}"

    def documents(self) -> list[Document]:
        """The Ingress, the Service with its endpoints, and `objects`."""
        annotations = {_PREFIX + key: text for key, text in self.annotations.items()}
        rules = rule(HOST, path(self.prefix, "app"))
        slices = [slice_of("app", each) for each in self.endpoints]
        for each in slices:
            each["metadata"]["namespace"] = self.name
        return [
            ingress("web", rules, namespace=self.name, annotations=annotations),
            service("app", namespace=self.name),
            *slices,
            *self.objects,
        ]


def manifests(place: Path, *tenants: Tenant, **settings: str) -> ManifestFolder:
    """A folder in `place` with the objects of `tenants`, and these keys in its ConfigMap (`_` stands for `-`)."""
    folder = ManifestFolder(place / "manifests")
    folder.write("class.yaml", ingress_class())
    folder.write("settings.yaml", config_map(**{**_SETTINGS, **settings}))
    for tenant in tenants:
        folder.write(f"{tenant.name}.json", *tenant.documents())
    return folder


@asynccontextmanager
async def neighbours(
    place: Path, *tenants: Tenant, options: Sequence[str] = (), **settings: str
) -> AsyncIterator[Zonal]:
    """A process that serves `tenants`. `settings` are those of `manifests`."""
    async with running(manifests(place, *tenants, **settings).place, *options, anew=True) as zonal:
        yield zonal


def memory_of(zonal: Zonal) -> int:
    """The resident bytes of the process."""
    found = re.search(r"^VmRSS:\s+(\d+) kB$", Path(f"/proc/{zonal.pid}/status").read_text(), re.MULTILINE)
    assert found
    return int(found[1]) * 1024


class SlowerBeside(AssertionError):
    """The requests of the modest tenant took longer beside the greedy one than they may."""


def assert_unharmed(beside: Load, alone: Load, judge_times: bool) -> None:
    """No request of `beside` failed, and with `judge_times` its 99th percentile is at most twice that of `alone`.

    Raises `SlowerBeside` if only the percentile is too high.
    """
    assert alone.failures == []
    assert beside.failures == []
    if not judge_times:
        return
    took, allowed = beside.percentile_seconds(0.99), max(2 * alone.percentile_seconds(0.99), _NOISE_SECONDS)
    if took > allowed:
        raise SlowerBeside(f"the 99th percentile is {took:.3f} s, and {allowed:.3f} s are allowed")


def in_one_of_three(test: Callable[..., Awaitable[None]]) -> Callable[..., Awaitable[None]]:
    """Play a test again after `SlowerBeside`, twice at most.

    What a neighbour costs comes back in each run, and what other programs of the machine cost does not. A failed
    request, or any other failure, ends the test at once.
    """

    @wraps(test)
    async def played(tmp_path: Path, **parameters: object) -> None:
        for run in range(2):
            try:
                return await test(tmp_path=tmp_path / str(run), **parameters)
            except SlowerBeside:
                continue
        return await test(tmp_path=tmp_path / "last", **parameters)

    return played
