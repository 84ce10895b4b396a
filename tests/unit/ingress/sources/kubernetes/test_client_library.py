"""The library's records of objects are not imported with what zonal uses, and are there for whoever wants them."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytestmark = pytest.mark.large

_COUNT = "print(sum(each.startswith('kubernetes_asyncio.client.models') for each in sys.modules))"


def said(*lines: str) -> list[str]:
    """What a process of its own prints, because this one may have imported anything."""
    program = "\n".join(("import sys", *lines))
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    return ended.stdout.split()


def test_the_records_are_left_out() -> None:
    assert said("import ingress.cluster", _COUNT) == ["0"]


@pytest.mark.parametrize("first", ["import ingress.cluster", "import kubernetes_asyncio"])
def test_whoever_imports_the_library_otherwise_gets_all_of_it(first: str) -> None:
    lines = (
        first,
        "import ingress.cluster",
        "import kubernetes_asyncio",
        "from kubernetes_asyncio.client import ApiClient, models",
        "from ingress.sources.kubernetes import client_library",
        "print(models.V1Pod.__name__, ApiClient is client_library.ApiClient)",
    )
    assert said(*lines) == ["V1Pod", "True"]


def test_other_names_of_the_package_are_missing_and_no_mistake_of_another_kind() -> None:
    lines = (
        "from ingress.sources.kubernetes.client_library import _without_records",
        "with _without_records():",
        "    import kubernetes_asyncio.client as client",
        "    print(hasattr(client, 'Configuration'), hasattr(client, 'V1Pod'))",
    )
    assert said(*lines) == ["True", "False"]
