"""Imports what zonal uses of kubernetes_asyncio: how credentials are found, and its client.

The library imports a record for each kind of object that there is: 850 modules, which take 30 MiB and a third of a
second, and which nobody here uses. They are left out while its other parts are imported. Whoever imports the library
otherwise gets all of it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import TYPE_CHECKING, Final

_CLIENT: Final = "kubernetes_asyncio.client"
_PACKAGES: Final = ("kubernetes_asyncio", _CLIENT, f"{_CLIENT}.models")
_PARTS: Final = {"ApiClient": "api_client", "Configuration": "configuration"}
"""What other parts of the library ask of its package `client`, and the modules that have it."""


class _Package(ModuleType):
    """A package of the library whose own code was not run. Its modules can be imported."""

    def __getattr__(self, name: str) -> object:
        if self.__name__ == _CLIENT and name in _PARTS:
            return getattr(import_module(f"{_CLIENT}.{_PARTS[name]}"), name)
        raise AttributeError(f"{self.__name__} has no {name} here")


@contextmanager
def _without_records() -> Iterator[None]:
    """While the context lasts, the packages of the library are empty but for their modules."""
    if _PACKAGES[0] in sys.modules:  # all of it is there already
        yield
        return
    for name in _PACKAGES:
        spec = find_spec(name)
        if spec is None:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        package = _Package(name)
        package.__path__ = list(spec.submodule_search_locations or ())
        package.__spec__ = spec
        sys.modules[name] = package
        parent, _, own = name.rpartition(".")
        if parent:
            setattr(sys.modules[parent], own, package)
    try:
        yield
    finally:
        for name in _PACKAGES:
            del sys.modules[name]


if TYPE_CHECKING:
    from kubernetes_asyncio.client.api_client import ApiClient
    from kubernetes_asyncio.client.configuration import Configuration
    from kubernetes_asyncio.config import ConfigException, load_incluster_config
    from kubernetes_asyncio.config.kube_config import FileOrData, KubeConfigLoader, KubeConfigMerger
else:
    with _without_records():
        from kubernetes_asyncio.client.api_client import ApiClient
        from kubernetes_asyncio.client.configuration import Configuration
        from kubernetes_asyncio.config import ConfigException, load_incluster_config
        from kubernetes_asyncio.config.kube_config import FileOrData, KubeConfigLoader, KubeConfigMerger

__all__ = [
    "ApiClient",
    "ConfigException",
    "Configuration",
    "FileOrData",
    "KubeConfigLoader",
    "KubeConfigMerger",
    "load_incluster_config",
]
