"""A process that only follows a cluster: what a replica asks of the API server, without all that it does with it.

Says on standard output the name of each Service it hears of, a line each, until standard input ends.
"""

from __future__ import annotations

import asyncio
import random
import sys
from pathlib import Path

from ingress.objects.kinds import Service
from ingress.sources.events import Replaced, Upserted
from ingress.sources.kubernetes.api import ApiServer
from ingress.sources.kubernetes.reflecting import ReflectorTimes
from ingress.sources.kubernetes.source import ClusterOptions, KubernetesSource


async def follow(kubeconfig: Path) -> None:
    """Follow the cluster with the times of a real replica, until cancelled."""
    api = await ApiServer.connect(kubeconfig=kubeconfig)
    options = ClusterOptions(configmap="zonal/zonal")
    source = KubernetesSource(api, options, times=ReflectorTimes(), random=random.random)
    try:
        async for event in source.events():
            heard = event.objects if isinstance(event, Replaced) else ()
            for item in (event.object,) if isinstance(event, Upserted) else heard:
                if isinstance(item, Service):
                    print(item.metadata.name, flush=True)
    finally:
        await api.close()


async def main() -> None:
    following = asyncio.create_task(follow(Path(sys.argv[1])))
    await asyncio.to_thread(sys.stdin.read)
    following.cancel()
    await asyncio.gather(following, return_exceptions=True)


if __name__ == "__main__":
    asyncio.run(main())
