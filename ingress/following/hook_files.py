"""Reads the hooks of the operator: files, folders of files, and entry points of installed packages.

No hook runs in this process: what it is, a short-lived process says, which runs its file under a time limit. Methods
block on the disk and on that process.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from importlib.metadata import entry_points
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

import zonal_hooks
from balancer.model.hooks import HookCode, HookPhase
from ingress.findings import Finding, Severity
from ingress.settings.hooks import RegisteredHook
from zonal_hooks.limits import refuse_tracing
from zonal_hooks.loading import NotAHook, checked_hook_name, name_of_file
from zonal_hooks.manifests import Asked, Manifest, Told

GROUP: Final = "zonal.hooks"
"""The group of entry points by which installed packages bring hooks."""

REASON: Final = "HookUnusable"
FILE_BYTES_MOST: Final = 256 * 1024
_SECONDS: Final = 20.0  # importing a large library on a busy machine takes some
_FIRST_LINE: Final = 400

_Signature = tuple[int, int, int]


class HooksUnusable(Exception):
    """A hook cannot be used at the start. The message is one line that names it."""


class ReadHooks(NamedTuple):
    """The hooks that can be used, sorted by name, and what is wrong with the others."""

    hooks: tuple[RegisteredHook, ...]
    findings: tuple[Finding, ...]


class HookFiles:
    """The hooks in some places, as they were read last."""

    __slots__ = ("_ask", "_known", "_restless", "_signatures", "_told", "places")

    def __init__(self, places: Sequence[Path], ask: Callable[[Asked], Told] | None = None) -> None:
        """`places` are files and folders, whose `*.py` count but for hidden ones and those that begin with `_`."""
        self.places = tuple(places)
        self._ask = ask or manifest_of
        self._known: dict[str, RegisteredHook] = {}
        self._told: dict[Asked, Told] = {}
        self._signatures: dict[Path, _Signature] = {}
        self._restless = False

    def open(self) -> ReadHooks:
        """Reads everything. Raises `HooksUnusable` if anything cannot be used."""
        for place in self.places:
            if not place.exists():
                raise HooksUnusable(f"--hooks {place}: there is no such file or folder")
        self._signatures = self._look()
        found = self._read()
        if found.findings:
            raise HooksUnusable(f"--hooks: {found.findings[0].message}")
        return found

    def poll(self) -> ReadHooks | None:
        """What there is now; None if nothing has changed, or a file is still being written."""
        signatures = self._look()
        if signatures != self._signatures:
            self._signatures = signatures
            self._restless = True
            return None
        if not self._restless:
            return None
        self._restless = False
        return self._read()

    def _look(self) -> dict[Path, _Signature]:
        found = {}
        for path in self._files():
            try:
                state = path.stat()
            except OSError:
                continue
            found[path] = (state.st_mtime_ns, state.st_size, state.st_ino)
        return found

    def _files(self) -> list[Path]:
        files: list[Path] = []
        for place in self.places:
            if place.is_dir():
                names = sorted(path for path in place.glob("*.py") if path.name[0] not in "._")
                files += names
            else:
                files.append(place)
        return files

    def _read(self) -> ReadHooks:
        """A hook that cannot be used stays as it was when it could."""
        known, problems = dict[str, RegisteredHook](), list[Finding]()
        for name, asked, problem in (*self._of_files(), *_of_entry_points()):
            if asked is None:
                problems.append(_finding(name, problem))
                continue
            if name in known:
                problems.append(_finding(name, f"{asked.path or asked.module}: another hook is called {name}"))
                continue
            told = self._told.get(asked) or self._ask(asked)
            self._told[asked] = told
            if told.manifest is not None:
                known[name] = registered(asked, told.manifest)
                continue
            problems.append(_finding(name, told.problem))
            if (before := self._known.get(name)) is not None:
                known[name] = before
        if any(each.code.isolated for each in known.values()):
            refuse_tracing()  # this process holds what is the cluster's
        self._known = known
        self._told = {asked: told for asked, told in self._told.items() if told.manifest is not None}
        return ReadHooks(tuple(known[name] for name in sorted(known)), tuple(problems))

    def _of_files(self) -> list[tuple[str, Asked | None, str]]:
        found: list[tuple[str, Asked | None, str]] = []
        for path in self._files():
            try:
                name = name_of_file(path.name)
                found.append((name, Asked(name, str(path), _text(path)), ""))
            except (OSError, UnicodeDecodeError, NotAHook) as error:
                found.append((path.stem, None, f"{path}: {error}"))
        return found


def _of_entry_points() -> list[tuple[str, Asked | None, str]]:
    found: list[tuple[str, Asked | None, str]] = []
    for each in sorted(entry_points(group=GROUP), key=lambda point: point.name):
        try:
            name = checked_hook_name(each.name)
            found.append((name, Asked(name, module=each.value.partition(":")[0]), ""))
        except NotAHook as error:
            found.append((each.name, None, f"entry point {each.name}: {error}"))
    return found


def _text(path: Path) -> str:
    """The text of a file. Raises OSError, UnicodeDecodeError and `NotAHook`."""
    if path.stat().st_size > FILE_BYTES_MOST:
        raise NotAHook(f"it has more than {FILE_BYTES_MOST} bytes")
    return path.read_text(encoding="utf-8")


def registered(asked: Asked, manifest: Manifest) -> RegisteredHook:
    """The hook that `asked` names, as its manifest describes it."""
    code = HookCode(manifest.name, manifest.digest, asked.path, asked.text, asked.module, manifest.isolated)
    phases = tuple(
        HookPhase(each.name, each.timeout_seconds, each.on_error == "pass", each.body) for each in manifest.phases
    )
    return RegisteredHook(code, phases, manifest.schema)


def _finding(name: str, problem: str) -> Finding:
    return Finding(
        kind="Hook",
        namespace="",
        name=name[:63],
        reason=REASON,
        message=f"{problem[:_FIRST_LINE]}.",
        effect="The hook stays as it was when it could be used; if it never could, paths that ask it answer 503.",
        severity=Severity.DEGRADED,
    )


def manifest_of(asked: Asked) -> Told:
    """What a process of its own says of a hook. It has no part of our environment but the path of programs."""
    root = str(Path(zonal_hooks.__file__).parents[1])
    environment = {"PATH": os.environ.get("PATH", ""), "PYTHONPATH": root, "PYTHONSAFEPATH": "1"}
    command = (sys.executable, "-m", "zonal_hooks.manifests")
    question = msgspec.json.encode(asked)
    named = asked.path or asked.module
    try:
        done = subprocess.run(
            command, input=question, capture_output=True, env=environment, timeout=_SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        return Told(problem=f"{named}: running the file takes more than {_SECONDS:g} s")
    except OSError as error:
        return Told(problem=f"{named}: no process could be started: {error}")
    try:
        return msgspec.json.decode(done.stdout, type=Told)
    except msgspec.MsgspecError:
        return Told(problem=f"{named}: running the file ended its process ({done.returncode})")
