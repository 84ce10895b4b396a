"""Starts the commands `zonal` and `kubectl zonal`."""

from __future__ import annotations

import os
import signal
import sys
from types import FrameType
from typing import Any, NoReturn

import click

_MESSAGE_LIMIT = 4000  # longer than any message of ours


def main() -> None:
    """Runs `zonal`. Bad input is one clear line on stderr and exit status 2, never a traceback."""
    signal.signal(signal.SIGTERM, _end)  # a stop during start-up is not a failure
    from ingress.cli.commands import cli

    signal.signal(signal.SIGTERM, _leave)
    _run(cli)


def kubectl() -> None:
    """Runs `kubectl zonal`, in the same manner."""
    from ingress.cli.kubectl.plugin import plugin

    _run(plugin)


def _run(command: click.Command) -> NoReturn:
    from ingress.cli.flags import BadInput
    from ingress.findings import printable

    try:
        status = _flushed(command)
    except BrokenPipeError:
        # The reader has gone. At exit Python would flush into the same pipe and complain.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except click.exceptions.NoArgsIsHelpError as error:
        print(error.format_message(), file=sys.stderr)
        sys.exit(2)
    except (click.ClickException, BadInput) as error:
        message = error.format_message() if isinstance(error, click.ClickException) else str(error)
        print(f"zonal: {printable(' '.join(message.split()), limit=_MESSAGE_LIMIT)}", file=sys.stderr)
        sys.exit(2)
    except (click.Abort, KeyboardInterrupt):
        sys.exit(130)
    sys.exit(status or 0)


def _flushed(command: click.Command) -> Any:
    """What the command returns. All that it has printed is written, however it ends."""
    try:
        return command.main(standalone_mode=False)
    finally:
        if sys.stdout is not None:  # closed by whoever started us
            sys.stdout.flush()


def _end(_number: int, _frame: FrameType | None) -> NoReturn:
    os._exit(0)  # nothing has begun, and in a callback of the importer an exception would be lost


def _leave(_number: int, _frame: FrameType | None) -> NoReturn:
    sys.exit(0)


if __name__ == "__main__":
    main()
