"""Says what an exchange asks of whoever made it, and tells it at its end."""

from __future__ import annotations

from balancer.errors import AttemptError, ErrorKind, Sent


class ExchangeOwner:
    """Makes the attempts of one request, and hears how each of them ends."""

    __slots__ = ()

    def passes_over(self, status: int, is_request_here: bool) -> bool:
        """Whether somebody else shall answer instead of a response of `status`, of which nothing was relayed yet.

        `is_request_here`: another endpoint can get the whole request.
        """
        raise NotImplementedError

    def leaves_silent(self, sent: Sent) -> bool:
        """Whether another endpoint gets a request of which so much was `sent`, because this one answers nobody."""
        raise NotImplementedError

    def limit_passed(self) -> ErrorKind:
        """Why the exchange must end: no time is left to the request, or to the attempt."""
        raise NotImplementedError

    def exchange_ended(self, error: AttemptError | None, reused: bool, ended_at: float, answered_at: float) -> None:
        """Both streams are free again; called once.

        `reused`: the endpoint's connection had served before. Times are those of `time.perf_counter`; `answered_at` is
        that of the first byte of the response, 0 if none came.
        """
        raise NotImplementedError
