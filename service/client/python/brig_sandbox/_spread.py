"""A batch over several addresses: each judges a share, and what one leaves goes to the others."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace
from typing import AsyncIterator, Dict, List, Optional, Sequence, Tuple, Union

from ._addresses import Address
from ._async_following import follow_async
from ._async_http import AsyncTransport
from ._batch import JobResult, Jobs
from ._errors import InfraError, SandboxError
from ._following import BatchProgress, Following, Progress, printed
from ._retrying import Policy
from ._wire import closing

# An address that is away for so many seconds leaves its share to the others.
_AWAY = 15.0

_Ended = Tuple[Address, Optional[SandboxError]]


async def judge_spread(transport: AsyncTransport, policy: Policy, jobs: Jobs, progress: Progress) -> AsyncIterator[JobResult]:
    """Yields the result of each job once, whichever address judged it."""
    shown = Together(transport.addresses, len(jobs), progress)
    left = set(range(len(jobs)))
    addresses: Sequence[Address] = transport.addresses
    heard = time.monotonic()
    while left:
        ended: List[_Ended] = []
        waiting = sorted(left)
        shares = {a: waiting[n :: len(addresses)] for n, a in enumerate(addresses)}
        round = _Round(transport, replace(policy, away=min(policy.away, _AWAY)), jobs, shown)
        async with closing(round.results({a: share for a, share in shares.items() if share})) as coming:
            async for came in coming:
                if not isinstance(came, JobResult):
                    ended.append(came)
                    continue
                heard = time.monotonic()
                if came.index in left:
                    left.remove(came.index)
                    yield came
        errors = [e for _, e in ended if e is not None]
        for e in errors:
            if not (isinstance(e, InfraError) and e.code in ("gateway-unreachable", "gateway-gone")):
                raise e
        if left and not errors:
            raise InfraError(f"{len(left)} jobs have no result, and the service says that it has judged all", code="bad-answer")
        addresses = [a for a, e in ended if e is None]
        if not addresses:
            until = heard + policy.away if policy.until is None else policy.until
            if time.monotonic() >= until:
                raise errors[0]
            addresses = transport.addresses


class _Round:
    """The shares of the addresses that are there, judged at the same time."""

    def __init__(self, transport: AsyncTransport, policy: Policy, jobs: Jobs, shown: Together) -> None:
        self._transport = transport
        self._policy = policy
        self._jobs = jobs
        self._shown = shown
        self._came: "asyncio.Queue[Union[JobResult, _Ended]]" = asyncio.Queue()

    async def results(self, shares: Dict[Address, List[int]]) -> AsyncIterator[Union[JobResult, _Ended]]:
        """Yields results as they come, and how each address ended."""
        tasks = [asyncio.ensure_future(self._judge(address, share)) for address, share in shares.items()]
        try:
            ended = 0
            while ended < len(tasks):
                came = await self._came.get()
                ended += not isinstance(came, JobResult)
                yield came
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _judge(self, address: Address, share: List[int]) -> None:
        body, key = self._jobs.share(share)
        state = Following(address, self._policy, body, key, len(share), self._shown.of(address))
        error: Optional[SandboxError] = None
        try:
            async with closing(follow_async(self._transport, state, address)) as coming:
                async for said in coming:
                    result = self._jobs.result(said)
                    if result is not None:
                        self._came.put_nowait(result)
        except SandboxError as e:
            error = e
        self._came.put_nowait((address, error))


class Together:
    """The progress of several batches as that of one."""

    def __init__(self, addresses: Sequence[Address], jobs: int, progress: Progress) -> None:
        self._jobs = jobs
        self._show = printed() if progress is True else progress or None
        self._began = time.monotonic()
        self._ended: List[BatchProgress] = []
        self._now: Dict[Address, BatchProgress] = {}

    def of(self, address: Address) -> Progress:
        """The progress function of one batch at an address."""
        if self._show is None:
            return None
        if address in self._now:
            self._ended.append(self._now.pop(address))
        return lambda now: self._add(address, now)

    def _add(self, address: Address, now: BatchProgress) -> None:
        self._now[address] = now
        parts = [*self._ended, *self._now.values()]
        if self._show is not None:
            self._show(
                BatchProgress(
                    batch_id=",".join(p.batch_id for p in self._now.values() if p.batch_id),
                    phase=now.phase,
                    jobs=self._jobs,
                    results=sum(p.results for p in parts),
                    failed=sum(p.failed for p in parts),
                    seconds=time.monotonic() - self._began,
                    away=min(p.away for p in self._now.values()),
                )
            )
