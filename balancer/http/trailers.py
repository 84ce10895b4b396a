"""Says which trailers of one message pass on, after what was decided about its head. No I/O.

A reader may merge trailers into the head (RFC 9110 6.5.1). So no trailer says what the head must not say: what a gate
has judged, replaced or added, and what an edit has hidden.
"""

from __future__ import annotations

from functools import lru_cache

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
        field
        for field in trailers
        if (lower := field[0].lower()).startswith(_OF_GRPC) or lower in announced
        if passes_as_trailer(lower) and like_dashes(lower) not in plain
        if name_onward(field[0], outgoing.passing)
    )


def trailers_for_client(trailers: Trailers, hidden: frozenset[bytes]) -> Trailers:
    """The trailers of a response without those whose names, in lower case, are `hidden` in its head."""
    plain = _dashed(hidden)
    kept = [field for field in trailers if like_dashes(field[0].lower()) not in plain]
    return trailers if len(kept) == len(trailers) else tuple(kept)


@lru_cache(maxsize=256)  # there are as many sets as edits of heads
def _dashed(names: frozenset[bytes]) -> frozenset[bytes]:
    return frozenset(map(like_dashes, names))
