"""Finds the entry point at which a request comes in. No I/O."""

from __future__ import annotations

from balancer.explain.asking import Question
from balancer.live import View
from balancer.model.entry_points import EntryPoint


def entry_point_of(question: Question, view: View) -> EntryPoint:
    """The first entry point of the port that knows the host; that of Ingresses comes first on the port of its scheme.

    Gateways may share a port with Ingresses, on sockets of their own. A URL does not say which of them a client means.
    Without any the entry point is that of Ingresses, on whatever port they are served.
    """
    own, host = question.entry_point, question.request.host_name
    if question.port == own.port and view.configurations[own.key].host(host) is not None:
        return own
    for other in view.model.entry_points:
        fits = other.key != own.key and other.port == question.port and other.is_secure == own.is_secure
        if fits and other.key in view.configurations and view.configurations[other.key].host(host) is not None:
            return other
    return own
