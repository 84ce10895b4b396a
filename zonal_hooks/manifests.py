"""What is known of a hook without running its file: its phases, its bounds, and the schema of its settings.

`python -m zonal_hooks.manifests` reads one request as JSON from standard input and writes the manifest to standard
output, so that whoever asks never runs the file in its own process.
"""

from __future__ import annotations

import contextlib
import os
import sys
from typing import Any

import msgspec

from zonal_hooks.loading import Hook, NotAHook, load_module, load_text


class Phase(msgspec.Struct, frozen=True):
    """One function of a hook. `timeout_seconds` bounds a call."""

    name: str
    timeout_seconds: float
    on_error: str
    body: bool = False


class Manifest(msgspec.Struct, frozen=True):
    """A hook. `digest` differs when its text does. `schema` is the JSON schema of its settings, empty without any."""

    name: str
    digest: str
    phases: tuple[Phase, ...] = ()
    isolated: bool = False
    schema: str = ""


class Asked(msgspec.Struct, frozen=True):
    """Which hook is asked about: the text of a file, or an installed module."""

    name: str
    path: str = ""
    text: str = ""
    module: str = ""


class Told(msgspec.Struct, frozen=True):
    """The answer: a manifest, or why there is none."""

    manifest: Manifest | None = None
    problem: str = ""


def load(asked: Asked) -> Hook:
    """Loads the hook in this process. Raises `NotAHook`."""
    return load_module(asked.name, asked.module) if asked.module else load_text(asked.name, asked.text, asked.path)


def manifest_of(hook: Hook) -> Manifest:
    """The manifest of a loaded hook. Raises `NotAHook` if its settings have no schema."""
    phases = tuple(
        Phase(name, each.declared.timeout, each.declared.on_error, each.declared.body)
        for name, each in hook.functions.items()
    )
    return Manifest(hook.name, hook.digest, phases, hook.is_isolated, _schema(hook))


def _schema(hook: Hook) -> str:
    if hook.settings_type is None:
        return ""
    try:
        schema = msgspec.json.schema(hook.settings_type)
    except Exception as error:
        raise NotAHook(f"its settings have no schema: {error}") from None
    return msgspec.json.encode(_strict(schema)).decode()


def _strict(schema: Any) -> Any:
    """`schema` without room for fields that nobody knows: a misspelt setting is none."""
    if isinstance(schema, dict):
        made = {key: _strict(value) for key, value in schema.items()}
        if made.get("type") == "object" and isinstance(made.get("properties"), dict):
            made.setdefault("additionalProperties", False)
        return made
    return [_strict(each) for each in schema] if isinstance(schema, list) else schema


def answer(question: bytes) -> bytes:
    """The answer to one question, both as JSON. Runs the file."""
    asked = msgspec.json.decode(question, type=Asked)
    try:
        told = Told(manifest_of(load(asked)))
    except NotAHook as problem:
        told = Told(problem=str(problem))
    return msgspec.json.encode(told)


def main() -> None:
    """Answers the question on standard input. What the file prints goes to standard error."""
    question = sys.stdin.buffer.read()
    with os.fdopen(os.dup(1), "wb") as out:
        os.dup2(2, 1)
        with contextlib.redirect_stdout(sys.stderr):
            told = answer(question)
        out.write(told)
        out.flush()
        os._exit(0)  # whatever the file has left behind, as threads, does not hold the answer up


if __name__ == "__main__":
    main()
