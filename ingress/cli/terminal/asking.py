"""Asks admin ports for the document of `/debug/overview`, several at once.

Does not know what the document is for.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPException
from typing import Final
from urllib.error import HTTPError
from urllib.parse import urlencode
from urllib.request import ProxyHandler, build_opener

import msgspec

from ingress.admin.overview.document import FORMAT, Overview
from ingress.cli.terminal.views import AdminReply
from ingress.findings import printable

_ANSWER_SECONDS: Final = 10.0  # a busy process of a large cluster may take a second
_ANSWER_BYTES: Final = 256 * 1024 * 1024  # 5,000 Ingresses and 20,000 endpoints take 5 MiB
_AT_ONCE: Final = 16
_QUOTED_BYTES: Final = 4096
_QUOTED: Final = 200
# Made here, and not by each thread: msgspec crashes when two threads see a type for the first time at once.
_OVERVIEW: Final = msgspec.json.Decoder(Overview)


def is_admin_url(text: str) -> bool:
    """Whether this can be the URL of an admin port."""
    return text.startswith(("http://", "https://"))


def ask_all(admins: Sequence[str], parts: Sequence[str]) -> list[AdminReply]:
    """What each admin port says, in the order of `admins`. Nothing is raised: an answer says what went wrong."""
    with ThreadPoolExecutor(max_workers=min(len(admins), _AT_ONCE)) as threads:
        return list(threads.map(lambda admin: _asked(admin, parts), admins))


def _asked(admin: str, parts: Sequence[str]) -> AdminReply:
    query = urlencode({"parts": ",".join(parts)})
    opener = build_opener(ProxyHandler({}))  # a proxy would ask from its own host
    try:
        with opener.open(f"{admin.rstrip('/')}/debug/overview?{query}", timeout=_ANSWER_SECONDS) as answer:
            overview = _OVERVIEW.decode(answer.read(_ANSWER_BYTES))
    except HTTPError as error:
        return AdminReply(admin, problem=_refusal(error))
    except msgspec.DecodeError:
        return AdminReply(admin, problem="the answer is of another version of zonal, or of another program")
    except (OSError, ValueError, HTTPException) as error:
        return AdminReply(admin, problem=printable(_failure(error), limit=_QUOTED))
    if overview.format != FORMAT:
        return AdminReply(admin, problem=f"the answer has format {overview.format}, and this zonal reads {FORMAT}")
    return AdminReply(admin, overview)


def _failure(error: Exception) -> str:
    reason = getattr(error, "reason", error)
    known = reason.strerror if isinstance(reason, OSError) else None
    return (known or str(reason) or "no answer").lower()


def _refusal(error: HTTPError) -> str:
    with error:
        text = error.read(_QUOTED_BYTES).decode(errors="replace").strip()
    if error.code == 404:
        return "the admin port has no /debug/overview: it is of an older zonal, or of another program"
    return f"the admin port answers {error.code}: {printable(' '.join(text.split()), limit=_QUOTED)}"
