"""Answers requests in plain text where TLS is spoken, so that people see what is wrong. They are never served.

What comes is as nginx answers it: 400, and the connection is closed.
"""

from __future__ import annotations

import re
import socket
from typing import Final

from balancer.connections.clienthello import HELLO_BYTES_MAX

_BEGIN: Final = re.compile(rb"[A-Z]{3,16} ")
_BEGIN_BYTES: Final = 17
_BODY: Final = b"A plain HTTP request came to a port for HTTPS.\n"
_ANSWER: Final = (
    b"HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s"
) % (len(_BODY), _BODY)


def refuses_plain_request(connection: socket.socket) -> bool:
    """Whether a connection began with a request in plain text. Then it is answered, and has to be closed.

    Otherwise what it began with stays in the socket. Never waits.
    """
    try:
        if not _BEGIN.match(connection.recv(_BEGIN_BYTES, socket.MSG_PEEK | socket.MSG_DONTWAIT)):
            return False
        # Closing with unread bytes would reset the connection and lose the answer.
        connection.recv(HELLO_BYTES_MAX, socket.MSG_DONTWAIT)
        connection.send(_ANSWER, socket.MSG_DONTWAIT)
        connection.shutdown(socket.SHUT_WR)
    except BlockingIOError:
        return False
    except OSError:
        pass
    return True
