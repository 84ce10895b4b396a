"""Asks a Prometheus, or anything with its HTTP API, instant questions; and reads files in its text format.

Blocks. Does not know metrics.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final
from urllib.error import HTTPError
from urllib.parse import urlencode
from urllib.request import ProxyHandler, Request, build_opener

from prometheus_client.parser import text_string_to_metric_families

from ingress.findings import printable
from ingress.migration.command import CannotCheck

Sample = tuple[Mapping[str, str], float]
"""Labels and a value."""

_ANSWER_SECONDS: Final = 120.0  # thirty days of a large cluster take a Prometheus a while
_ANSWER_BYTES: Final = 256 * 1024 * 1024
_QUOTED: Final = 200


class Prometheus:
    """A server with the HTTP API of Prometheus. Every method raises `CannotCheck`."""

    __slots__ = ("_fields", "_url")

    def __init__(self, url: str, fields: Sequence[str] = ()) -> None:
        """`fields` are header fields of each question, `NAME:VALUE`, such as those of a login."""
        self._url = url.rstrip("/")
        self._fields = dict(_field(each) for each in fields)

    def ask(self, query: str, *, at_epoch_seconds: float) -> list[Sample]:
        """The samples of an instant vector."""
        parameters = urlencode({"query": query, "time": f"{at_epoch_seconds:.3f}"})
        request = Request(f"{self._url}/api/v1/query?{parameters}", headers=self._fields)
        opener = build_opener(ProxyHandler({}))
        try:
            with opener.open(request, timeout=_ANSWER_SECONDS) as answer:
                found = json.loads(answer.read(_ANSWER_BYTES))
            return [(each["metric"], float(each["value"][1])) for each in found["data"]["result"]]
        except HTTPError as error:
            with error:
                said = " ".join(error.read(4096).decode(errors="replace").split())
            raise CannotCheck(f"{self._url} answers {error.code}: {printable(said, limit=_QUOTED)}") from None
        except (OSError, ValueError, KeyError, TypeError, IndexError) as error:
            cause = getattr(error, "reason", error)  # what the library wraps
            said = getattr(cause, "strerror", None) or str(cause) or "no answer"
            raise CannotCheck(f"{self._url}: {printable(said, limit=_QUOTED)}") from None


def scraped(pages: Iterable[tuple[str, str]]) -> dict[str, list[Sample]]:
    """The samples, by name, of pages in the text format, each with the name of its file.

    Raises `CannotCheck`.
    """
    found: dict[str, list[Sample]] = {}
    for file, page in pages:
        try:
            for family in text_string_to_metric_families(page):
                for sample in family.samples:
                    found.setdefault(sample.name, []).append((sample.labels, sample.value))
        except ValueError as error:
            said = printable(str(error), limit=_QUOTED)
            raise CannotCheck(f"{file} holds no metrics in the text format: {said}") from None
    return found


def label(labels: Mapping[str, Any], name: str) -> str:
    """A label of the exporter. Where a Prometheus has one of its own of that name, it calls this one `exported_`."""
    return str(labels.get(f"exported_{name}") or labels.get(name) or "")


def by(*names: str) -> str:
    """The labels of a sum, under both names that `label` looks for."""
    return ", ".join((*names, *(f"exported_{name}" for name in names)))


def _field(text: str) -> tuple[str, str]:
    name, colon, value = text.partition(":")
    if not colon or not name.strip() or "\n" in text or "\r" in text:
        raise CannotCheck("--header takes NAME:VALUE")
    return name.strip(), value.strip()
