"""The gRPC service behind the proxies: its two methods, and what is sent to them and back, as it is on the wire."""

from __future__ import annotations

import struct

SERVICE_PATH = "/bench.Calls/"
"""What the paths of all methods begin with."""

UNARY_PATH, STREAM_PATH = f"{SERVICE_PATH}Unary", f"{SERVICE_PATH}Stream"

MESSAGE = bytes(100)
MESSAGES_OF_STREAM = 100

FRAME = struct.pack(">?I", False, len(MESSAGE)) + MESSAGE
"""A message as it is sent: not compressed, its length, itself."""

ANSWERS = {UNARY_PATH: FRAME, STREAM_PATH: FRAME * MESSAGES_OF_STREAM}
"""The bodies that the methods answer with."""

FIELDS = ("Content-Type: application/grpc", "TE: trailers")
"""What a client of gRPC says of each call."""
