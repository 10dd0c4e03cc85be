"""Many submissions in one batch of the service, for trainers."""

from __future__ import annotations

import hashlib
import json
import math
import uuid
from dataclasses import dataclass, field
from typing import Any, Dict, Iterable, Iterator, List, Mapping, Optional, Sequence, Tuple

from urllib.parse import quote

from ._errors import InfraError, RequestError, SandboxError, reading
from ._following import Following, Progress
from ._grading import CaseItem, case_of
from ._http import Transport
from ._limits import ResourceLimits, check_limits
from ._result import Content, encode

@dataclass(frozen=True)
class Job:
    """One submission with its tests.

    id:      unique in the batch; empty: its position, from 0
    cases:   as of run_tests; none: the program only has to end well
    limits:  None: those of the batch
    meta:    any JSON of at most 64 KiB, which the result has again
    problem: name or digest of a stored problem, which has the tests; instead of cases and stdin

    input_file and output_file are as of run_tests.
    """

    code: str
    cases: Sequence[CaseItem] = ()
    language: str = "python"
    id: str = ""
    limits: Optional[ResourceLimits] = None
    stdin: Content = ""
    files: Mapping[str, Content] = field(default_factory=dict)
    stop_at_failure: bool = False
    meta: Any = None
    problem: str = ""
    input_file: str = ""
    output_file: str = ""

    def to_api(self, position: int) -> Dict[str, Any]:
        """The job in the service's format. position counts from 0."""
        asked: Dict[str, Any] = {"id": self.id or str(position), "language": self.language, "source": encode(self.code)}
        if self.problem:
            if self.cases or self.stdin or self.input_file or self.output_file:
                raise ValueError("a problem has the tests: leave out cases, stdin, input_file and output_file")
            asked["problem"] = self.problem
        if self.cases:
            asked["tests"] = [case_of(case).to_api(n) for n, case in enumerate(self.cases, 1)]
        if self.limits is not None:
            asked["limits"] = self.limits.to_api()
        if self.stdin:
            asked["stdin"] = encode(self.stdin)
        if self.files:
            asked["files"] = [{"name": name, "content": encode(content)} for name, content in self.files.items()]
        if self.input_file:
            asked["input_file"] = self.input_file
        if self.output_file:
            asked["output_file"] = self.output_file
        if self.stop_at_failure:
            asked["stop_at_failure"] = True
        if self.meta is not None:
            asked["meta"] = self.meta
        return asked


@dataclass(frozen=True)
class JobResult:
    """What came of one job.

    status is done if it was judged, whatever the verdict. Otherwise it says nothing about
    the program: refused (the job is wrong), error (brig failed) or canceled. Only a job that
    is done has a score, from 0 to 1.
    """

    id: str
    index: int  # its position in the jobs, from 0
    status: str
    score: Optional[float]
    verdict: str  # empty: it was not judged
    answer: str  # accepted, wrong-answer, ...; empty: it was not judged, or has no tests
    error: Optional[SandboxError]  # why it was not judged; None: it was
    meta: Any = None
    said: Dict[str, Any] = field(default_factory=dict, repr=False)  # the whole line of the service

    @property
    def done(self) -> bool:
        return self.status == "done"

    @classmethod
    @reading()
    def of(cls, said: Mapping[str, Any], index: int) -> JobResult:
        status, score, error = said["status"], said.get("score"), said.get("error")
        if status not in ("done", "refused", "error", "canceled") or (status == "done") != isinstance(score, (int, float)):
            raise InfraError(f"the answer has a job that is {status!r:.40} with the score {score!r:.40}: is this a brig service?", code="bad-answer")
        failed: Optional[SandboxError] = None
        if status != "done":
            kind = RequestError if status == "refused" else InfraError
            why = error if isinstance(error, dict) else {}
            failed = kind(str(why.get("message") or status), code=str(why.get("code") or status), retry_safe=why.get("retry_safe") is True)
        return cls(
            id=str(said["id"]),
            index=index,
            status=status,
            score=None if score is None else float(score),
            verdict=str(said.get("verdict") or ""),
            answer=str(said.get("answer") or ""),
            error=failed,
            meta=said.get("meta"),
            said=dict(said),
        )


class Batches:
    """The part of CodeSandbox that judges batches."""

    default_limits: Optional[ResourceLimits]
    _http: Transport

    def _labels(self, project: Optional[str], task: Optional[str]) -> Dict[str, str]:
        raise NotImplementedError

    def grade_many(
        self,
        jobs: Iterable[Job],
        limits: Optional[ResourceLimits] = None,
        *,
        keep_results: bool = False,
        key: str = "",
        progress: Progress = None,
        project: Optional[str] = None,
        task: Optional[str] = None,
    ) -> Iterator[JobResult]:
        """Judges many jobs in one batch of the service, and yields each result as it arrives.

        The jobs get slots that no other request can have. A job that could not be judged is a
        result, too: its status is not done, and it has no score. A connection that breaks is made
        again, also to a service that was restarted or is away for up to away_timeout seconds, and
        no job that has a result is judged again. If the service did not take all jobs, that is
        raised after the last result. An error has the phase in which it came, and the batch_id.

        limits:       of jobs that have none; None: those of the client
        keep_results: JobResult.said has the result of each test; otherwise only a summary
        key:          a call with the same key and the same jobs, limits and labels attaches to the
                      batch that the first one began, also from another process
        progress:     True: to stderr; or a function of BatchProgress, called with each result and
                      sign of life
        """
        check_limits(limits)
        limits = limits or self.default_limits
        request: Dict[str, Any] = {"defaults": {} if limits is None else {"limits": limits.to_api()}, "keep": "result" if keep_results else "summary"}
        labels = self._labels(project, task)
        if labels:
            request["labels"] = labels
        return _grade_many(self._http, jobs, request, key, progress)

    def attach(self, batch_id: str, *, progress: Progress = None) -> Iterator[JobResult]:
        """Yields all results of a batch that exists, as grade_many does, also those that were read before.

        The batch_id is that of a BatchProgress or of an error. index is the position of the job in
        the lines of the batch.
        """
        if not batch_id:
            raise ValueError("batch_id is empty")
        return _attach(self._http, batch_id, progress)

    def score_many(
        self,
        jobs: Iterable[Job],
        limits: Optional[ResourceLimits] = None,
        *,
        key: str = "",
        progress: Progress = None,
        project: Optional[str] = None,
        task: Optional[str] = None,
    ) -> Tuple[List[float], List[bool]]:
        """Judges many jobs as grade_many does, and returns (scores, mask) in the order of the jobs.

        mask[i] is True if job i was judged. Otherwise scores[i] is NaN, never a zero: that job
        says nothing about its program, and must be left out of a mean or a reward.
        """
        all_jobs = list(jobs)
        return _scores_of(self.grade_many(all_jobs, limits, key=key, progress=progress, project=project, task=task), len(all_jobs))


def _grade_many(transport: Transport, jobs: Iterable[Job], request: Mapping[str, Any], key: str, progress: Progress) -> Iterator[JobResult]:
    """Yields the result of each job as it arrives. A connection that breaks is made again: nothing is judged twice."""
    lines, positions = [json.dumps(dict(request)).encode()], {}
    for n, job in enumerate(jobs):
        asked = job.to_api(n)
        if asked["id"] in positions:
            raise ValueError(f"two jobs have the id {asked['id']!r}: each needs its own")
        positions[asked["id"]] = n
        lines.append(json.dumps(asked).encode())
    if not positions:
        return
    body = b"\n".join(lines) + b"\n"
    # A batch is found again by its key. With other jobs it is another batch.
    exchange = hashlib.sha256(key.encode() + b"\0" + body).hexdigest() if key else uuid.uuid4().hex
    for said in Following(transport, len(positions), progress).lines(body, exchange):
        id = said.get("id")
        if id in positions:
            yield JobResult.of(said, positions[id])


def _attach(transport: Transport, batch_id: str, progress: Progress) -> Iterator[JobResult]:
    for said in Following(transport, 0, progress).lines(None, "", "/v1/batches/" + quote(batch_id, safe="")):
        index = said.get("index")
        yield JobResult.of(said, index if isinstance(index, int) else -1)


def _scores_of(results: Iterable[JobResult], jobs: int) -> Tuple[List[float], List[bool]]:
    """The scores of the jobs in their order, and which of them are valid."""
    scores, mask = [math.nan] * jobs, [False] * jobs
    for result in results:
        if result.score is not None:
            scores[result.index], mask[result.index] = result.score, True
    return scores, mask
