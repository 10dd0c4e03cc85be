"""Jobs, and what came of them: many submissions in one batch of the service, for trainers."""

from __future__ import annotations

import hashlib
import json
import math
import uuid
from dataclasses import dataclass, field, fields
from typing import Any, Dict, Iterable, List, Mapping, Optional, Sequence, Tuple, Union

from ._checks import check, check_items
from ._errors import InfraError, RequestError, SandboxError, reading
from ._grading import CaseItem, case_of
from ._limits import ResourceLimits
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
        check(code=self.code, language=self.language, limits=self.limits, stdin=self.stdin, files=self.files, stop_at_failure=self.stop_at_failure)
        check(problem=self.problem, input_file=self.input_file, output_file=self.output_file)
        if not isinstance(self.id, str):
            raise TypeError(f'id is {self.id!r:.80}: write a text, such as "{self.id}"')
        if isinstance(self.cases, (str, bytes, Mapping)) or not isinstance(self.cases, Sequence):
            raise TypeError(f'cases is {self.cases!r:.80}: write a list of tests, such as [("1 2", "3")]')
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


JobItem = Union[Job, Mapping[str, Any]]


def job_of(item: JobItem) -> Job:
    """Converts a Job, or a mapping of its fields. Anything else is a TypeError."""
    if isinstance(item, Job):
        return item
    if isinstance(item, Mapping):
        known = [f.name for f in fields(Job)]
        for name in item:
            if name not in known:
                cure = "it is called cases" if name == "tests" else "the fields are " + ", ".join(known)
                raise TypeError(f"a job has no field {name!r}: {cure}")
        if "code" not in item:
            raise TypeError("a job has no code: write Job(code, cases)")
        return Job(**item)
    raise TypeError(f"a job is a Job, such as Job(code, [(\"1 2\", \"3\")]), or a mapping of its fields, not {item!r:.80}")


class Jobs:
    """The jobs of one call, as they are sent."""

    def __init__(self, jobs: Iterable[JobItem], head: Mapping[str, Any], key: str) -> None:
        check_items("grade_many", jobs)
        self._head = json.dumps(dict(head)).encode()
        self._same = json.dumps(_without_run(head)).encode()
        self._key = key
        self._lines: List[bytes] = []
        self._positions: Dict[str, int] = {}
        for n, item in enumerate(jobs):
            asked = job_of(item).to_api(n)
            if asked["id"] in self._positions:
                raise ValueError(f"two jobs have the id {asked['id']!r}: each needs its own")
            self._positions[asked["id"]] = n
            self._lines.append(json.dumps(asked).encode())

    def __len__(self) -> int:
        return len(self._lines)

    def share(self, positions: Optional[Iterable[int]] = None) -> Tuple[bytes, str]:
        """The body of a batch of the jobs at these positions, or of all, and the key that finds it again."""
        lines = self._lines if positions is None else [self._lines[n] for n in positions]
        body = b"\n".join([self._head, *lines]) + b"\n"
        if not self._key:
            return body, uuid.uuid4().hex
        # With other jobs it is another batch, in another run it is not.
        same = b"\n".join([self._same, *lines]) + b"\n"
        return body, hashlib.sha256(self._key.encode() + b"\0" + same).hexdigest()

    def result(self, said: Mapping[str, Any]) -> Optional[JobResult]:
        """The result in a line; None if it is of no job."""
        id = said.get("id")
        return JobResult.of(said, self._positions[id]) if isinstance(id, str) and id in self._positions else None


def _without_run(head: Mapping[str, Any]) -> Dict[str, Any]:
    """The first line of a batch without the label run, which is no part of what is asked for."""
    labels = {k: v for k, v in head.get("labels", {}).items() if k != "run"}
    return {**head, "labels": labels} if labels else {k: v for k, v in head.items() if k != "labels"}


def attached(said: Mapping[str, Any]) -> JobResult:
    """The result in a line of a batch whose jobs are not known."""
    index = said.get("index")
    return JobResult.of(said, index if isinstance(index, int) else -1)


class Scores:
    """Collects the scores of jobs in their order, and which of them are valid."""

    def __init__(self, jobs: int) -> None:
        self._scores, self._mask = [math.nan] * jobs, [False] * jobs

    def add(self, result: JobResult) -> None:
        if result.score is not None:
            self._scores[result.index], self._mask[result.index] = result.score, True

    def done(self) -> Tuple[List[float], List[bool]]:
        return self._scores, self._mask
