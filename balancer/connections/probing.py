"""Asks one endpoint whether it is well: the network side of active checks.

Each probe has a connection of its own, because an endpoint that is well accepts new ones. aiohttp speaks HTTP/1.1 here,
because probes are no part of the request path. This module must not know when endpoints are asked, nor what follows
from an answer.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from importlib import import_module
from typing import TYPE_CHECKING, Final

from balancer.connections.checked_tls import checked_contexts
from balancer.connections.endpoint_contexts import EndpointContexts
from balancer.connections.endpoint_tls import endpoint_name
from balancer.connections.http2_probing import answers_well
from balancer.model.endpoints import HealthCheck
from balancer.model.handshakes import Handshake
from balancer.picking.members import Member
from balancer.runtime.absences import NEVER_ABSENT, Absences
from balancer.runtime.waiting import Bounded

if TYPE_CHECKING:
    from aiohttp import ClientSession

TCP: Final = "tcp"
"""The path of a check that only connects."""

_USER_AGENT: Final = "zonal-health"
_HEAD_LINE_BYTES_MAX: Final = 8190
_HEAD_LINES_MAX: Final = 128
# The body is never read; this bounds what may wait in memory until the connection is closed.
_BUFFER_BYTES: Final = 4096


class Probes:
    """The probes of one worker. Those over HTTP share one client, which the first of them makes.

    `absences` are those of the loop, whose time does not count for the limit of a probe.
    """

    __slots__ = ("_absences", "_contexts", "_session")

    def __init__(self, absences: Absences = NEVER_ABSENT) -> None:
        self._absences = absences
        self._contexts = checked_contexts()
        self._session: ClientSession | None = None

    async def is_well(self, member: Member, check: HealthCheck, tls: Handshake | None) -> bool:
        """Whether an endpoint accepts a connection and, unless the check is `tcp`, answers with 200 to 399 in time.

        A check by gRPC is well if the answer is SERVING.
        With `tls` the request goes over TLS, verified as requests of clients are. Redirects are not followed. The
        statuses are those of the kubelet's HTTP probes. Never raises for what an endpoint does.
        """
        if check.path == TCP:
            return await _accepts(member, check, self._absences)
        if check.http2:
            return await answers_well(member, check, tls, self._contexts, self._absences)
        # aiohttp takes 8 MiB in each worker and its import takes a good part of a second: only workers with a check
        # import it, and in a thread, so that the event loop goes on.
        if self._session is None:
            await asyncio.to_thread(import_module, "aiohttp")
        if self._session is None:  # no other probe was faster
            self._session = _session()
        with suppress(TimeoutError):
            async with Bounded(check.timeout_seconds, self._absences):
                return await _answers_well(self._session, member, check, tls, self._contexts)
        return False

    async def close(self) -> None:
        """Closes the client with its connections. Another probe would make a new one."""
        session = self._session
        self._session = None
        if session is not None:
            await session.close()


def _session() -> ClientSession:
    """A client whose connections serve one request each, as many at a time as are asked for."""
    import aiohttp

    return aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(force_close=True, use_dns_cache=False, limit=0),
        cookie_jar=aiohttp.DummyCookieJar(),
        timeout=aiohttp.ClientTimeout(total=None),
        auto_decompress=False,
        skip_auto_headers=("Accept", "Accept-Encoding"),
        headers={"User-Agent": _USER_AGENT},
        read_bufsize=_BUFFER_BYTES,
        max_line_size=_HEAD_LINE_BYTES_MAX,
        max_field_size=_HEAD_LINE_BYTES_MAX,
        max_headers=_HEAD_LINES_MAX,
    )


async def _accepts(member: Member, check: HealthCheck, absences: Absences) -> bool:
    try:
        async with Bounded(check.timeout_seconds, absences):
            _, writer = await asyncio.open_connection(member.endpoint.address, member.endpoint.port)
    except OSError:  # TimeoutError is one
        return False
    writer.close()
    with suppress(OSError):
        await writer.wait_closed()
    return True


async def _answers_well(
    session: ClientSession, member: Member, check: HealthCheck, tls: Handshake | None, contexts: EndpointContexts
) -> bool:
    import aiohttp
    from yarl import URL

    scheme = "https" if tls else "http"
    try:
        async with session.get(
            URL(f"{scheme}://{member.label}{check.path}", encoded=True),
            headers=dict(check.fields) | ({"Host": check.host} if check.host else {}),
            allow_redirects=False,
            ssl=await contexts.of(member.namespace, tls) if tls else True,
            server_hostname=endpoint_name(tls, member.endpoint.address) if tls else None,
        ) as response:
            response.close()
            return 200 <= response.status < 400
    except (aiohttp.ClientError, OSError, ValueError):  # ssl.SSLError is an OSError
        return False
