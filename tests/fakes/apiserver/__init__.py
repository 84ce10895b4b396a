"""A Kubernetes API server for tests: real HTTP on loopback, a store in memory, faults on demand."""

from tests.fakes.apiserver.faults import Fault
from tests.fakes.apiserver.requests import Call
from tests.fakes.apiserver.server import ApiServer

__all__ = ["ApiServer", "Call", "Fault"]
