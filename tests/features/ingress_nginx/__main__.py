"""Plays chosen cases, whatever is expected of them: `python -m tests.features.ingress_nginx 'canary/*' 'hsts/*'`."""

from __future__ import annotations

import sys
from fnmatch import fnmatch

from tests.features.ingress_nginx.cases import all_cases
from tests.features.ingress_nginx.differences import DIFFERENT
from tests.features.ingress_nginx.playing import play_all


def main(patterns: list[str]) -> None:
    """Print a line for each case, and the ids that may be taken off the list of differences."""
    chosen = [case for case in all_cases() if any(fnmatch(case.id, pattern) for pattern in patterns or ["*"])]
    problems = play_all(chosen)
    for case in chosen:
        print(
            f"{'FAIL' if problems[case.id] else 'pass'} {case.priority} {case.id}", *problems[case.id], sep="\n       "
        )
    passing = [case.id for case in chosen if case.id in DIFFERENT and not problems[case.id]]
    print(f"{sum(not each for each in problems.values())} of {len(chosen)} pass")
    print("pass though different:", *passing or ["none"], sep="\n")


if __name__ == "__main__":
    main(sys.argv[1:])
