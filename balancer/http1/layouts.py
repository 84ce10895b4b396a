"""Structs whose attributes compiled modules read at their places in memory, which `layouts.pxd` tells."""

from balancer.http1.heads import Http1Response as Http1ResponseLayout

__all__ = ("Http1ResponseLayout",)
