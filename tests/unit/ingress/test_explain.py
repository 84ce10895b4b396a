"""The command `zonal explain` on a folder: text for people, JSON for tools, and an exit status for scripts."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ingress.cli import BadInput, cli
from tests.fakes.endpoints import Placement
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
