"""A hundred hooks that do what no hook should: bodies of functions, by what they try."""

from __future__ import annotations

from collections.abc import Mapping

BODIES: Mapping[str, str] = {
    "endless": "while True: pass",
    "endless-sleep": "time.sleep(3600)",
    "endless-async": "await asyncio.sleep(3600)",
    "endless-tasks": "while True: await asyncio.sleep(0)",
    "clings": "while True:\n        try: await asyncio.sleep(3600)\n        except BaseException: pass",
    "raise": "raise ValueError('x' * 10**6)",
    "raise-base": "raise BaseException",
    "raise-exit": "raise SystemExit(0)",
    "raise-interrupt": "raise KeyboardInterrupt",
    "raise-generator-exit": "raise GeneratorExit",
    "raise-cancelled": "raise asyncio.CancelledError",
    "raise-odd": "class E(Exception):\n        def __str__(self): raise SystemExit\n    raise E",
    "huge-header": "m.set_header('x-a', 'x' * 2**24)",
    "many-headers": "for n in range(10**5): m.add_header(f'x-{n}', 'x')",
    "many-bytes": "for n in range(60): m.add_header(f'x-{n}', 'x' * 8000)",
    "crlf": "m.set_header('x-a', 'b\\r\\nset-cookie: c')",
    "crlf-name": "m.set_header('x-a: b\\r\\nx', 'c')",
    "nul": "m.set_header('x-a', 'b\\0')",
    "framing": "m.set_header('Content-Length', '0')",
    "chunked": "m.set_header('transfer-encoding', 'chunked')",
    "hop-by-hop": "m.remove_header('connection')",
    "host": "m.set_header('Host', 'evil.test')",
    "not-a-text": "m.set_header('x-a', b'bytes')",
    "gigabyte": "bytearray(2**30)[0]",
    "gigabytes-of-list": "x = []\n    while True: x.append(bytearray(2**24))",
    "fork": "os.fork()",
    "fork-bomb": "while True: os.fork()",
    "spawn": "import subprocess; subprocess.run(['/bin/true'], check=True)",
    "exec": "os.execv('/bin/true', ['true'])",
    "socket": "import socket; socket.create_connection(('127.0.0.1', 1))",
    "kill-parent": "os.kill(os.getppid(), 9)",
    "exit": "os._exit(0)",
    "abort": "os.abort()",
    "segfault": "import ctypes; ctypes.string_at(0)",
    "closed-loop": "asyncio.get_running_loop().close()",
    "stopped-loop": "asyncio.get_running_loop().stop(); await asyncio.sleep(3600)",
    "recursion": "def f(): return f()\n    f()",
    "deep": "x = []\n    for _ in range(10**6): x = [x]\n    repr(x)",
    "returns-number": "return 403",
    "returns-class": "return Deny",
    "returns-coroutine": "return asyncio.sleep(0)",
    "returns-generator": "return (x for x in ())",
    "bent-deny": "d = Deny(403); d.status = 99; return d",
    "bent-reply": "r = Reply(200); r.fields = ((b'a', b'b\\r\\nc: d'),); return r",
    "bent-body": "r = Reply(200); r.body = b'x' * 2**24; return r",
    "bent-edits": "m._edits.append(('add', b'x\\r\\ny', b'z'))",
    "patched-check": "import zonal_hooks.messages as z; z.checked_value = str.encode; m.set_header('x', 'a\\r\\nb: c')",
    "patched-verdict": "import zonal_hooks.calling as z; z.verdict_of = lambda *_: 7",
    "garbage-on-socket": (
        "for fd in range(3, 32):\n        try: os.write(fd, b'\\xff' * 64)\n        except OSError: pass\n"
        "    time.sleep(99)"
    ),
    "closed-socket": "os.closerange(3, 64); time.sleep(3600)",
}
"""By name; `m` is the message. Each is tried as `request` and as `response`, which makes a hundred."""


def text_of(body: str, phase: str) -> str:
    """The text of a hostile hook, after the usual imports."""
    start = "import os, time\n@hook(isolated=True, timeout='100ms')\n"
    return f"{start}async def {phase}(m):\n    {body}\n"
