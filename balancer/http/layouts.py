"""Structs whose attributes compiled modules read at their places in memory, which `layouts.pxd` tells."""

from balancer.http.edits import HeadEdit as HeadEditLayout
from balancer.http.messages import RequestHead as RequestHeadLayout
from balancer.http.messages import ResponseHead as ResponseHeadLayout

__all__ = ("HeadEditLayout", "RequestHeadLayout", "ResponseHeadLayout")
