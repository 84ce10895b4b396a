"""Says which trailers of one message pass on, after what was decided about its head. No I/O.

A reader may merge trailers into the head (RFC 9110 6.5.1). So no trailer says what the head must not say: what a gate
has judged, replaced or added, and what an edit has hidden.
"""

from __future__ import annotations

from collections.abc import Iterable

from balancer.http.messages import Trailers
from balancer.http.passing import like_dashes, name_onward, passes_as_trailer
from balancer.http.rules import members
from balancer.http.streams import Outgoing

_OF_GRPC = b"grpc-"


def trailers_for_endpoint(trailers: Trailers, outgoing: Outgoing) -> Trailers:
    """The trailers of a request that its endpoint gets.

    These are the fields of gRPC, and harmless ones that `Trailer` announces, but for names about which a gate, the
    route or the settings have said something.
    """
    announced = members([value for name, value in outgoing.request.fields if name == b"trailer"])
    decided = {*outgoing.removed, *outgoing.replaced, *(name.lower() for name, _ in outgoing.added)}
    plain = {like_dashes(name) for name in decided}
    return tuple(
        (name, value)
        for name, value in trailers
        if (lower := name.lower()).startswith(_OF_GRPC) or lower in announced
        if passes_as_trailer(lower) and like_dashes(lower) not in plain
        if name_onward(name, outgoing.passing)
    )


def trailers_for_client(trailers: Trailers, hidden: Iterable[bytes]) -> Trailers:
    """The trailers of a response without those whose names, in lower case, are `hidden` in its head."""
    plain = {like_dashes(name) for name in hidden}
    return tuple((name, value) for name, value in trailers if like_dashes(name.lower()) not in plain)
