"""The methods of CodeSandbox for batches."""

from __future__ import annotations

import time
from typing import Any, Dict, Iterable, Iterator, List, Optional, Tuple
from urllib.parse import quote

from ._async_http import twin_of
from ._batch import JobItem, JobResult, Jobs, Scores, attached
from ._bridge import iterate
from ._checks import check, check_items
from ._following import Following, Progress, follow
from ._http import Transport
from ._limits import ResourceLimits
from ._runs import Runs
from ._spread import judge_spread


class Batches(Runs):
    """The part of CodeSandbox that judges batches."""

    _http: Transport

    def grade_many(
        self,
        jobs: Iterable[JobItem],
        limits: Optional[ResourceLimits] = None,
        *,
        keep_results: bool = False,
        key: str = "",
        progress: Progress = None,
        deadline_seconds: Optional[float] = None,
        project: Optional[str] = None,
        task: Optional[str] = None,
    ) -> Iterator[JobResult]:
        """Judges many jobs in one batch of the service, and yields each result as it arrives.

        The jobs get slots that no other request can have. A job that could not be judged is a
        result, too: its status is not done, and it has no score. A connection that breaks is made
        again, also to a service that was restarted or is away for up to away_timeout seconds, and
        no job that has a result is judged again. If the service did not take all jobs, that is
        raised after the last result. An error has the phase in which it came, and the batch_id.

        With several addresses each judges a share of the jobs. If one stays away while another is
        there, its jobs without a result go to the others.

        limits:           of jobs that have none; None: those of the client
        keep_results:     JobResult.said has the result of each test; otherwise only a summary
        key:              a call with the same key and the same jobs, limits, project and task attaches
                          to the batch that the first one began, also from another process or run
        progress:         True: to stderr; or a function of BatchProgress, called with each result
                          and sign of life
        deadline_seconds: until then a service that is full or away is waited for; after it comes
                          an InfraError (deadline). None: room_timeout and away_timeout count
        """
        check(key=key, progress=progress, deadline_seconds=deadline_seconds)
        head = self._batch_head(limits, keep_results, project, task)
        return _grade_many(self._http, jobs, head, key, progress, deadline_seconds)

    def attach(self, batch_id: str, *, progress: Progress = None, deadline_seconds: Optional[float] = None) -> Iterator[JobResult]:
        """Yields all results of a batch that exists, as grade_many does, also those that were read before.

        The batch_id is that of a BatchProgress or of an error. index is the position of the job in
        the lines of the batch.
        """
        check(batch_id=batch_id, progress=progress, deadline_seconds=deadline_seconds)
        if not batch_id:
            raise ValueError("batch_id is empty")
        return _attach(self._http, batch_id, progress, deadline_seconds)

    def score_many(
        self,
        jobs: Iterable[JobItem],
        limits: Optional[ResourceLimits] = None,
        *,
        key: str = "",
        progress: Progress = None,
        deadline_seconds: Optional[float] = None,
        project: Optional[str] = None,
        task: Optional[str] = None,
    ) -> Tuple[List[float], List[bool]]:
        """Judges many jobs as grade_many does, and returns (scores, mask) in the order of the jobs.

        mask[i] is True if job i was judged. Otherwise scores[i] is NaN, never a zero: that job
        says nothing about its program, and must be left out of a mean or a reward.
        """
        check_items("score_many", jobs)
        all_jobs = list(jobs)
        scores = Scores(len(all_jobs))
        for result in self.grade_many(all_jobs, limits, key=key, progress=progress, deadline_seconds=deadline_seconds, project=project, task=task):
            scores.add(result)
        return scores.done()


def deadline(seconds: Optional[float]) -> Optional[float]:
    """The moment of the monotonic clock that is so many seconds ahead."""
    return None if seconds is None else time.monotonic() + seconds


def _grade_many(transport: Transport, items: Iterable[JobItem], head: Dict[str, Any], key: str, progress: Progress, seconds: Optional[float]) -> Iterator[JobResult]:
    jobs = Jobs(items, head, key)
    if not len(jobs):
        return
    policy = transport.policy.patient(deadline(seconds))
    if len(transport.addresses) > 1:
        yield from iterate(lambda: judge_spread(twin_of(transport), policy, jobs, progress))
        return
    address = transport.addresses[0]
    body, exchange = jobs.share()
    for said in follow(transport, Following(address, policy, body, exchange, len(jobs), progress), address):
        result = jobs.result(said)
        if result is not None:
            yield result


def _attach(transport: Transport, batch_id: str, progress: Progress, seconds: Optional[float]) -> Iterator[JobResult]:
    address = transport.only("attach").addresses[0]
    policy = transport.policy.patient(deadline(seconds))
    state = Following(address, policy, None, "", 0, progress, "/v1/batches/" + quote(batch_id, safe=""))
    for said in follow(transport, state, address):
        yield attached(said)
