"""The facts of one relay, and how they reach metrics and the access log. Never fails a relay."""

from __future__ import annotations

import time
from collections.abc import Callable

import msgspec

from balancer.logs.accesslines import AccessRecord
from balancer.logs.accesslog import AccessLog
from balancer.matching.logged import LoggedRequests
from balancer.matching.relay_tables import RelayTarget
from balancer.metrics.streams import StreamLabels, StreamRecorder
from balancer.model.zones import UNKNOWN_ZONE
from balancer.picking.members import Pick
from balancer.relays.states import End, status_of
from balancer.zones.cost import FREE
from balancer.zones.reasons import Reason


class RelayAccount(msgspec.Struct, eq=False):
    """The facts of one relay, filled in as they become known. It is also who asks (`picking.outcomes.Asker`).

    `target` None: no relay route took the connection. `connect_seconds` is what the endpoint took to accept. `counted`
    are the bytes to the endpoint and from it that metrics have already. `started` is of `time.perf_counter`.
    """

    client: str
    server_name: str
    protocol: str
    started: float = msgspec.field(default_factory=time.perf_counter)
    pause_seconds: float = 0.0
    target: RelayTarget | None = None
    pick: Pick | None = None
    refusal: Reason | None = None
    tried: tuple[str, ...] = ()
    connect_seconds: float | None = None
    from_zone: str = UNKNOWN_ZONE
    counted: tuple[int, int] = (0, 0)


class RelayAccounting:
    """Counts relays, and writes a line for each at its end."""

    __slots__ = ("_access_log", "_error", "_recorder")

    def __init__(self, recorder: StreamRecorder, access_log: AccessLog, error: Callable[[str], None]) -> None:
        """`error` counts an end that was none of its sides', by kind."""
        self._recorder = recorder
        self._access_log = access_log
        self._error = error

    def connected(self, account: RelayAccount) -> None:
        """Counts that an endpoint has accepted."""
        target, pick = account.target, account.pick
        if target is not None and pick is not None:
            names, seconds = target.names, account.connect_seconds or 0.0
            self._recorder.connected(names.namespace, names.service, pick.to_zone, pick.reason.value, seconds)

    def carried(self, account: RelayAccount, sent: int, received: int) -> None:
        """Counts the bytes so far: `sent` to the endpoint, and `received` from it."""
        target, pick = account.target, account.pick
        sent_before, received_before = account.counted
        if target is None or pick is None or (sent, received) == account.counted:
            return
        account.counted = (sent, received)
        more_sent, more_received, tariff = sent - sent_before, received - received_before, pick.tariff
        prices = (0.0, 0.0) if tariff is FREE else _prices(pick, more_sent, more_received)
        names = target.names
        zones = account.from_zone, pick.to_zone
        self._recorder.carried(names.namespace, names.service, zones, (more_sent, more_received), prices)

    def close(
        self, account: RelayAccount, end: End, *, sent: int, received: int, logged: LoggedRequests | None
    ) -> None:
        """Counts and logs a relay at its end."""
        seconds = time.perf_counter() - account.started
        self.carried(account, sent, received)
        error = "" if end is None else end.value
        if end is not None:
            self._error(error)
        target, pick = account.target, account.pick
        if target is not None:
            names, owner = target.names, target.branch.owner
            labels = StreamLabels(
                names.namespace,
                names.ingress,
                owner.kind,
                names.service,
                account.from_zone,
                UNKNOWN_ZONE if pick is None else pick.to_zone,
                "unknown" if pick is None else pick.locality.value,
                error,
            )
            self._recorder.ended(labels, seconds)
        if self._access_log.enabled and (logged is None or logged.takes_stream(None if target is None else owner)):
            self._access_log.write(_record(account, end, seconds, sent, received))


def _prices(pick: Pick, sent: int, received: int) -> tuple[float, float]:
    tariff = pick.tariff
    return tariff.dollars(sent, received), tariff.blind_dollars(sent, received)


def _record(account: RelayAccount, end: End, seconds: float, sent: int, received: int) -> AccessRecord:
    target, pick = account.target, account.pick
    reason = account.refusal if pick is None else pick.reason
    names = None if target is None else target.names
    return AccessRecord(
        time=time.time(),
        client=account.client,
        method="",
        host=account.server_name,
        path="",
        protocol=account.protocol,
        status=status_of(end),
        bytes_in=sent,
        bytes_out=received,
        duration=seconds,
        endpoint_duration=account.connect_seconds,
        namespace="" if names is None else names.namespace,
        ingress="" if names is None else names.ingress,
        service="" if names is None else names.service,
        endpoints=account.tried,
        from_zone=account.from_zone,
        to_zone=UNKNOWN_ZONE if pick is None else pick.to_zone,
        locality="unknown" if pick is None else pick.locality.value,
        reason="" if reason is None else reason.value,
        request_id="",
        service_port="" if names is None else names.port,
        dry_run_reason=None if pick is None or pick.foretold is None else pick.foretold.reason.value,
        error=None if end is None else end.value,
    )
