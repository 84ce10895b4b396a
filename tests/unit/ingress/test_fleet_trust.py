"""What a replica proves itself with: nothing without a port, a secret file, or Leases in a cluster."""

from __future__ import annotations

from pathlib import Path

import pytest

from ingress.fleet_trust import FleetTrust, fleet_trust
from ingress.settings.options import ClusterAccess, PeerSecretUnusable, RunOptions
from ingress.sources.contract import CannotFollow
from ingress.writing.replica_leases import CERTIFICATE
from tests.fakes.apiserver import ApiServer
from tests.fakes.sockets import until
from tests.unit.ingress.writing.writers import running

pytestmark = pytest.mark.large


async def test_without_a_port_there_is_nothing_to_prove() -> None:
    assert await fleet_trust(RunOptions(source=None)) == FleetTrust()


async def test_a_secret_file_needs_no_cluster(tmp_path: Path) -> None:
    file = tmp_path / "secret"
    with pytest.raises(PeerSecretUnusable):
        await fleet_trust(RunOptions(source=tmp_path, peer_port=1, peer_secret=file))
    file.write_bytes(b"a secret that is long enough")
    trust = await fleet_trust(RunOptions(source=tmp_path, peer_port=1, peer_secret=file))
    assert trust.credentials is not None
    assert trust.leased is None


async def test_without_credentials_for_the_cluster_it_cannot_start(tmp_path: Path) -> None:
    access = ClusterAccess(kubeconfig=tmp_path / "missing")
    with pytest.raises(CannotFollow, match="--peer-port without --peer-secret"):
        await fleet_trust(RunOptions(source=None, cluster=access, peer_port=1))


async def test_in_a_cluster_leases_say_whom_to_believe(tmp_path: Path) -> None:
    async with ApiServer() as server:
        access = ClusterAccess(
            kubeconfig=server.write_kubeconfig(tmp_path / "config", token="pod-1"),
            pod_name="zonal-1",
            pod_namespace="zonal",
            time_scale=0.01,
        )
        trusts = [await fleet_trust(RunOptions(source=None, cluster=access, peer_port=1)) for _ in range(2)]
        one, two = (trust.leased for trust in trusts)
        assert one is not None and two is not None
        assert one.trust.credentials.row_secret == two.trust.credentials.row_secret
        async with running(one.run(), two.run()):
            await until(lambda: all(len(each.trust.credentials.believed or ()) == 2 for each in (one, two)))
        told = [lease["metadata"]["annotations"].get(CERTIFICATE) for lease in server.objects("Lease")]
        assert len([each for each in told if each]) == 2
        for each in (one, two):
            await each.api.close()
