"""Builds what a replica proves itself with to others: from a secret file, or in a cluster from Leases.

Part of the composition root. Runs before the workers start, because they must know the secret of clients' numbers.
"""

from __future__ import annotations

import secrets
import socket
from typing import TYPE_CHECKING, Final, NamedTuple

from ingress.settings.options import RunOptions
from ingress.sources.contract import CannotFollow

if TYPE_CHECKING:
    from ingress.replicas.lease_trust import LeaseTrust
    from ingress.replicas.trust import ReplicaCredentials
    from ingress.sources.kubernetes.api import ApiServer
    from ingress.writing.replica_leases import ReplicaLeases

_SECRET_SECONDS: Final = 15.0
_SECRET_BYTES: Final = 32


class LeasedTrust(NamedTuple):
    """The Leases by which replicas believe each other, who keeps them, and the connection that this takes."""

    trust: LeaseTrust
    leases: ReplicaLeases
    api: ApiServer

    async def run(self) -> None:
        """Keeps the own Lease and believes those of others, without end."""
        await self.leases.run(self.trust.certificate_pem.decode("ascii"), self.trust.believe)


class FleetTrust(NamedTuple):
    """What this replica proves itself with; None without others. `leased` if Leases say whom to believe."""

    credentials: ReplicaCredentials | None = None
    leased: LeasedTrust | None = None


async def fleet_trust(options: RunOptions) -> FleetTrust:
    """The trust that the options name. Raises `PeerSecretUnusable` and `CannotFollow`."""
    if options.peer_port is None:
        return FleetTrust()
    from ingress.replicas.trust import credentials_in

    if options.peer_secret is not None:
        return FleetTrust(credentials_in(options.peer_secret))
    leased = await _leased(options)
    return FleetTrust(leased.trust.credentials, leased)


async def _leased(options: RunOptions) -> LeasedTrust:
    from ingress.replicas.lease_trust import LeaseTrust
    from ingress.sources.kubernetes.api import ApiServer
    from ingress.sources.kubernetes.credentials import CannotConnect
    from ingress.writing.replica_leases import FleetOfLeases, ReplicaLeases

    access = options.cluster
    try:
        api = await ApiServer.connect(kubeconfig=access.kubeconfig)
    except CannotConnect as error:
        raise CannotFollow(f"--peer-port without --peer-secret: {error}") from None
    fleet = FleetOfLeases(
        namespace=access.pod_namespace or options.context.configmap.partition("/")[0],
        name=f"{options.context.configmap.partition('/')[2]}-fleet",
        pod=access.pod_name or socket.gethostname(),
        pod_uid=access.pod_uid,
    )
    leases = ReplicaLeases(api, fleet, time_scale=access.time_scale)
    row_secret = await leases.row_secret(_SECRET_SECONDS)
    return LeasedTrust(LeaseTrust(row_secret or secrets.token_bytes(_SECRET_BYTES)), leases, api)
