"""What an isolated process may not do: use much memory, run for long, make processes, open connections, touch others.

Linux only, as workers are. A limit that the system does not offer is told, not passed over.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import resource
import struct
from typing import Final

import msgspec


class Limits(msgspec.Struct, frozen=True):
    """The bounds of a process. `cpu_seconds` is what one stretch of calls may use before the kernel ends it."""

    memory_bytes: int = 512 * 1024 * 1024
    cpu_seconds: int = 5
    descriptors: int = 64
    file_bytes: int = 1024 * 1024


_PR_SET_NO_NEW_PRIVS: Final = 38
_PR_SET_SECCOMP: Final = 22
_PR_SET_PDEATHSIG: Final = 1
_PR_SET_DUMPABLE: Final = 4
_MODE_FILTER: Final = 2
_ALLOW: Final = 0x7FFF0000
_ERRNO: Final = 0x00050000
_KILL: Final = 0x80000000
_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_CLONE_THREAD: Final = 0x10000
_X32: Final = 0x40000000  # a second numbering of the calls of x86-64

_CAPABILITIES_VERSION: Final = 0x20080522  # capset(2): three words for each of two halves

# The numbers of system calls by architecture: name of the audit, clone, clone3, prlimit64, and those that are refused.
_CALLS: Final = {
    # socket connect accept recvmsg bind listen accept4 fork vfork execve kill ptrace tkill tgkill process_vm_readv
    # process_vm_writev execveat pidfd_send_signal io_uring_setup pidfd_open pidfd_getfd; then rt_sigqueueinfo
    # rt_tgsigqueueinfo setpriority sched_setparam sched_setscheduler sched_setaffinity sched_setattr recvmmsg;
    # then migrate_pages move_pages ioprio_set kcmp process_madvise process_mrelease unshare setns userfaultfd bpf
    # perf_event_open add_key request_key keyctl
    "x86_64": (
        0xC000003E,
        56,
        435,
        302,
        (
            *(41, 42, 43, 47, 49, 50, 288, 57, 58, 59, 62, 101, 200, 234, 310, 311, 322, 424, 434, 438, 425),
            *(129, 297, 141, 142, 144, 203, 314, 299),
            *(256, 279, 251, 312, 440, 448, 272, 308, 323, 321, 298, 248, 249, 250),
        ),
    ),
    "aarch64": (
        0xC00000B7,
        220,
        435,
        261,
        (
            *(198, 203, 202, 212, 200, 201, 242, 221, 129, 117, 130, 131, 270, 271, 281, 424, 434, 438, 425),
            *(138, 240, 140, 118, 119, 122, 274, 243),
            *(238, 239, 30, 272, 440, 448, 97, 268, 282, 280, 241, 217, 218, 219),
        ),
    ),
}


def confine(limits: Limits) -> tuple[str, ...]:
    """Confines this process for good. Returns what could not be done, each as a clause; call it before other code."""
    for number, most in (
        (resource.RLIMIT_AS, limits.memory_bytes),
        (resource.RLIMIT_NOFILE, limits.descriptors),
        (resource.RLIMIT_FSIZE, limits.file_bytes),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_NPROC, _threads()),
    ):
        _, hardest = resource.getrlimit(number)
        bound = most if hardest == resource.RLIM_INFINITY else min(most, hardest)
        resource.setrlimit(number, (bound, bound))
    refuse_tracing()  # by other processes of hooks: they have the same user and no fewer capabilities
    grant_cpu(limits.cpu_seconds)
    return (*_drop_capabilities(), *_refuse_calls())


def _threads() -> int:
    """No further processes and threads of the user. Root is not held by this bound; the filter of calls holds root."""
    return resource.getrlimit(resource.RLIMIT_NPROC)[0] if os.getuid() == 0 else 0


def grant_cpu(seconds: int) -> None:
    """Lets the process use `seconds` of CPU from now on; the kernel ends it then."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    _, hardest = resource.getrlimit(resource.RLIMIT_CPU)
    bound = int(used.ru_utime + used.ru_stime) + 1 + seconds
    resource.setrlimit(resource.RLIMIT_CPU, (bound if hardest < 0 else min(bound, hardest), hardest))


def end_with_parent(libc: ctypes.CDLL | None = None) -> None:
    """Ends this process with the one that started it (prctl(2))."""
    (libc or ctypes.CDLL(None)).prctl(_PR_SET_PDEATHSIG, 9, 0, 0, 0)


def refuse_tracing(libc: ctypes.CDLL | None = None) -> None:
    """Lets no process of the same user read or write the memory of this one, nor its files in /proc (prctl(2)).

    The kernel asks for a capability then, which isolated hooks never have. There are no core dumps either.
    """
    (libc or ctypes.CDLL(None)).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)


def program(machine: str) -> bytes | None:
    """The filter of system calls for a machine (seccomp(2)); None if its calls are not known here."""
    if machine not in _CALLS:
        return None
    audit, clone, clone3, prlimit, refused = _CALLS[machine]
    refuse = _statement(_RETURN, _ERRNO | errno.EPERM)
    made = [
        _statement(_LOAD, 4),
        _statement(_EQUAL, audit, 1, 0),
        _statement(_RETURN, _KILL),
        _statement(_LOAD, 0),
        _statement(_AT_LEAST, _X32, 0, 1),
        refuse,
        # glibc falls back to clone, whose flags can be read
        _statement(_EQUAL, clone3, 0, 1),
        _statement(_RETURN, _ERRNO | errno.ENOSYS),
        # threads only
        _statement(_EQUAL, clone, 0, 4),
        _statement(_LOAD, 16),
        _statement(_ANY_BIT, _CLONE_THREAD, 1, 0),
        refuse,
        _statement(_RETURN, _ALLOW),
        # limits of this process only, which is called 0
        _statement(_EQUAL, prlimit, 0, 4),
        _statement(_LOAD, 16),
        _statement(_EQUAL, 0, 1, 0),
        refuse,
        _statement(_RETURN, _ALLOW),
    ]
    for number in refused:
        made += [_statement(_EQUAL, number, 0, 1), refuse]
    made.append(_statement(_RETURN, _ALLOW))
    return b"".join(made)


def _statement(code: int, value: int, if_so: int = 0, if_not: int = 0) -> bytes:
    """One instruction of classic BPF; jumps are relative."""
    return struct.pack("HBBI", code, if_so, if_not, value)


def _drop_capabilities() -> tuple[str, ...]:
    """What capabilities there are would reach through the walls between processes. The user usually has none."""
    libc = ctypes.CDLL(None, use_errno=True)
    header, none = struct.pack("Ii", _CAPABILITIES_VERSION, 0), bytes(24)
    if libc.capset(header, none):
        return (f"the process keeps its capabilities: {os.strerror(ctypes.get_errno())}",)
    return ()


class _Program(ctypes.Structure):
    _fields_ = (("count", ctypes.c_ushort), ("filter", ctypes.c_char_p))


def _refuse_calls() -> tuple[str, ...]:
    filter_ = program(platform.machine())
    if filter_ is None:
        return (f"system calls are not refused on {platform.machine()}",)
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0):
        return ("the process may gain privileges",)
    program_ = _Program(len(filter_) // 8, filter_)
    if libc.prctl(_PR_SET_SECCOMP, _MODE_FILTER, ctypes.byref(program_), 0, 0):
        return (f"system calls are not refused: {os.strerror(ctypes.get_errno())}",)
    return ()
