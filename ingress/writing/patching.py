"""Carries out patches while this replica leads: some at once, at a steady rate, and no more than a server bears.

Namespaces take turns, so one with thousands of objects, or whose objects nobody can write, delays no other for long.
Does not know what a patch says, nor when one is due.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Generic, Protocol, TypeVar

from balancer.runtime.token_buckets import TokenBucket
from ingress.writing.calling import MERGE_PATCH, Api, ApiAnswer, NoApiAnswer, ask
from ingress.writing.statuses import PatchOutcome, outcome_of

_LOG = logging.getLogger(__name__)

_REFUSALS = 3
"""The number of patches of one group that may be refused before the rest of the group is skipped in this round."""

_BUSY_NAMESPACES = 2
"""Where a webhook for one namespace fails, the server says of this namespace what it says when it is overloaded."""

FIELD_MANAGER = "zonal"
"""The name under which the API server notes our writes."""


class Patch(Protocol):
    """One merge patch of an object of `namespace`, which is empty for objects of the whole cluster.

    Patches of one `group` are refused for the same reason. `told` names the object in the log.
    """

    @property
    def namespace(self) -> str: ...

    @property
    def path(self) -> str: ...

    @property
    def body(self) -> bytes: ...

    @property
    def group(self) -> str: ...

    @property
    def told(self) -> str: ...


AnyPatch = TypeVar("AnyPatch", bound=Patch)


class Round(Generic[AnyPatch]):
    """The patches of one look, shared by concurrent writers, and their outcomes."""

    def __init__(self, patches: Iterable[AnyPatch]) -> None:
        ordered = by_turns(patches)
        self.count = len(ordered)
        self.patches: Iterator[AnyPatch] = iter(ordered)
        self.is_unfinished = False
        self.is_stopped = False
        self.is_cut = False
        self.begun = 0
        self.retry_after_seconds = 0.0
        self.refused: dict[str, list[int]] = {}
        """The HTTP statuses that each group was refused with."""
        self.busy: set[str] = set()
        """The namespaces for which the server was unavailable."""

    def skips(self, patch: AnyPatch) -> bool:
        """Whether asking again in this round is useless: the group has refused enough, or the namespace is busy."""
        return patch.namespace in self.busy or len(self.refused.get(patch.group, ())) >= _REFUSALS

    def stop(self) -> None:
        """Ends writing in this round."""
        self.is_stopped = True
        self._drop()

    def cut(self) -> None:
        """Leaves what was not begun to the next round."""
        self.is_cut = True
        self._drop()

    def _drop(self) -> None:
        for _ in self.patches:
            pass

    def note(self, patch: AnyPatch, outcome: PatchOutcome, *, answer: ApiAnswer) -> None:
        """Notes the outcome of one patch."""
        if outcome is PatchOutcome.REFUSED:
            self.refused.setdefault(patch.group, []).append(answer.status)
        if outcome in (PatchOutcome.CHANGED, PatchOutcome.BUSY):
            self.is_unfinished = True
            self.retry_after_seconds = max(self.retry_after_seconds, answer.retry_after_seconds or 0.0)
        if outcome is PatchOutcome.BUSY:
            self.busy.add(patch.namespace)
            if len(self.busy) >= _BUSY_NAMESPACES:
                self.stop()  # more patches would only add load


class Patcher(Generic[AnyPatch]):
    """Writes while `leading` is true. `written` and `failed` count patches."""

    def __init__(
        self,
        api: Api,
        *,
        leading: Callable[[], bool],
        at_once: int,
        burst: int,
        per_second: float,
        tell: Callable[[AnyPatch, PatchOutcome, ApiAnswer], None],
    ) -> None:
        """`burst` patches need not wait for the rate after a pause. `tell` gets each patch with its outcome and the
        answer of the server.
        """
        self._api = api
        self._leading = leading
        self._at_once = at_once
        self._tell = tell
        self._bucket = TokenBucket(burst=burst, per_second=per_second)
        self.written = 0
        self.failed = 0

    async def carry_out(
        self, patches: Iterable[AnyPatch], *, is_outdated: Callable[[], bool] = lambda: False
    ) -> Round[AnyPatch]:
        """Carries out `patches` as far as possible now: by turns of namespaces, those of one in this order.

        As soon as it `is_outdated` no further one is begun, because something else may come first now. As many as go at
        once are begun anyway, so that rounds which are always cut short write something, too.
        """
        turn = Round(patches)
        async with asyncio.TaskGroup() as workers:
            for _ in range(min(self._at_once, turn.count)):
                workers.create_task(self._work(turn, is_outdated))
        return turn

    async def _work(self, turn: Round[AnyPatch], is_outdated: Callable[[], bool]) -> None:
        for patch in turn.patches:
            await self._wait_for_token()
            if turn.begun >= self._at_once and is_outdated():
                return turn.cut()
            turn.begun += 1
            # checked right before each write, because the last write must end before another replica leads
            if not self._leading():
                turn.stop()
            elif not turn.skips(patch):
                await self._write(patch, turn)

    async def _wait_for_token(self) -> None:
        now = time.monotonic()
        wait_seconds = self._bucket.wait_seconds(now)
        self._bucket.take()
        await asyncio.sleep(wait_seconds)

    async def _write(self, patch: AnyPatch, turn: Round[AnyPatch]) -> None:
        answer = await self._answer(patch)
        outcome = outcome_of(answer.status)
        if outcome is PatchOutcome.WRITTEN:
            self.written += 1
        elif outcome is not PatchOutcome.GONE:
            self.failed += 1
            _LOG.info("the status of %s is not written: %s", patch.told, answer.problem)
        self._tell(patch, outcome, answer)
        turn.note(patch, outcome, answer=answer)

    async def _answer(self, patch: AnyPatch) -> ApiAnswer:
        try:
            return await ask(
                self._api,
                "PATCH",
                patch.path,
                query={"fieldManager": FIELD_MANAGER},
                body=patch.body,
                content_type=MERGE_PATCH,
            )
        except NoApiAnswer as error:
            _LOG.info("the API server gave no answer to a status: %s", error)
            return ApiAnswer(status=503)  # what a server answers that is unavailable now


def by_turns(patches: Iterable[AnyPatch]) -> list[AnyPatch]:
    """The patches, one of each namespace after the other. Those of one namespace keep their order."""
    queues: dict[str, deque[AnyPatch]] = {}
    for each in patches:
        queues.setdefault(each.namespace, deque()).append(each)
    ordered: list[AnyPatch] = []
    while queues:
        ordered += [queue.popleft() for queue in queues.values()]
        queues = {namespace: queue for namespace, queue in queues.items() if queue}
    return ordered
