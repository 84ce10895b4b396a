"""Questions about requests, read by the reader of real heads."""

from __future__ import annotations

from collections.abc import Sequence

from balancer.explain import asking
from balancer.http1.heads import RequestHeadReader
from balancer.model.settings import ProxySettings


def question_of(url: str, fields: Sequence[str] = (), *, client: str = "") -> asking.Question:
    """The GET of `url` with `fields`, under the default settings."""
    return asking.question_of(url, fields, read=RequestHeadReader(ProxySettings()).read, client=client)
