"""Finds the entry point at which a request comes in. No I/O."""

from __future__ import annotations

from balancer.explain.asking import Question
from balancer.live import View
from balancer.model.entry_points import EntryPoint


def entry_point_of(question: Question, view: View) -> EntryPoint:
    """The entry point of Ingresses if one names the host; else the first other one of the port that knows the host.

    Gateways may share a port with Ingresses, on sockets of their own. A URL does not say which of them a client means.
    """
    own, host = question.entry_point, question.request.host_name
    if view.configurations[own.key].host(host) is not None:
        return own
    for other in view.model.entry_points:
        fits = other.key != own.key and other.port == question.port and other.is_secure == own.is_secure
        if fits and other.key in view.configurations and view.configurations[other.key].host(host) is not None:
            return other
    return own
