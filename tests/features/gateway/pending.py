"""The cases that do not pass yet, each with its reason. A case on the list that passes fails the test."""

from __future__ import annotations

PENDING: dict[str, str] = {}
