"""Puts the parts of an access log line together.

This is the plain source. Compiled modules take the function of `calls.pxd`, which is C.
"""

from __future__ import annotations

LINE_MOST = 2048
"""The most bytes of a line that is put together here."""


def json_line(  # noqa: PLR0917 -- compiled calls have no names
    start: str,
    opening: str,
    status: int,
    request_bytes: int,
    response_bytes: int,
    micros: int,
    endpoint_micros: int,
    names: str,
    request_id: bytes,
    rest: str,
    head_bytes: int,
    closing: str,
) -> bytes:
    """The JSON line of an ordinary request (`balancer.proxy.lines`); empty if it has more than `LINE_MOST` bytes.

    Texts are in ASCII, and stand in the line as they are. Numbers are not negative. Both times are below a second.
    """
    line = (
        f'{start}{opening}{status},"bytes_in":{request_bytes},"bytes_out":{response_bytes}'
        f',"duration":0.{micros:06d},"endpoint_duration":0.{endpoint_micros:06d}'
        f"{names}{request_id.decode()}{rest}{head_bytes}{closing}"
    ).encode()
    return line if len(line) <= LINE_MOST else b""
