"""Reads which definitions of Gateway API a cluster or a folder has, from the one of GatewayClass."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

DEFINITION: Final = "gatewayclasses.gateway.networking.k8s.io"
"""The name of the CustomResourceDefinition that stands for all of them."""

_BUNDLE: Final = "gateway.networking.k8s.io/bundle-version"
_CHANNEL: Final = "gateway.networking.k8s.io/channel"


class Definitions(msgspec.Struct, frozen=True):
    """The version and the channel (`standard`, `experimental`) of the definitions; empty where they do not say it."""

    version: str = ""
    channel: str = ""


def definitions_of(annotations: Mapping[str, str]) -> Definitions:
    """What the annotations of `DEFINITION` say."""
    return Definitions(annotations.get(_BUNDLE, ""), annotations.get(_CHANNEL, ""))


def definitions_in(document: Mapping[Any, Any]) -> Definitions | None:
    """What a parsed document says; None if it is no `DEFINITION`."""
    metadata = document.get("metadata")
    if document.get("kind") != "CustomResourceDefinition" or not isinstance(metadata, Mapping):
        return None
    annotations = metadata.get("annotations") or {}
    if metadata.get("name") != DEFINITION or not isinstance(annotations, Mapping):
        return None
    return definitions_of({key: value for key, value in annotations.items() if isinstance(value, str)})
