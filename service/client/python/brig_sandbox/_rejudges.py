"""Runs of the history once more: one alone, or many by a problem that was mended."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple
from urllib.parse import quote

from ._async_http import AsyncTransport
from ._checks import check
from ._errors import InfraError, reading
from ._grading import Grade
from ._http import Transport
from ._limits import ResourceLimits
from ._result import Content, ExecutionResult, encode
from ._runs import list_of

REJUDGES = "/v1/rejudges"


@dataclass(frozen=True)
class Rejudge:
    """Past runs that are judged again. Their old outcomes count until it is applied.

    state:    running, ready, applied or discarded
    matrix:   how many runs went from which outcome to which
    left_out: why runs that were chosen cannot be judged again, by their ids; at most 1,000
    """

    id: str
    state: str
    judged: int
    not_judged: int
    changed: int
    matrix: Dict[Tuple[str, str], int] = field(default_factory=dict)
    left_out: Dict[str, str] = field(default_factory=dict)

    @classmethod
    @reading()
    def of(cls, said: Any) -> Rejudge:
        if not isinstance(said, dict) or not isinstance(said.get("rejudge_id"), str):
            raise InfraError("the answer is no rejudge: is this a brig service?", code="bad-answer")
        return cls(
            id=said["rejudge_id"],
            state=str(said["state"]),
            judged=int(said["judged"]),
            not_judged=int(said["not_judged"]),
            changed=int(said["changed"]),
            matrix={(str(one["old"]), str(one["new"])): int(one["count"]) for one in said.get("matrix") or ()},
            left_out={str(one["run_id"]): str(one["why"]) for one in said.get("left_out") or ()},
        )


@dataclass(frozen=True)
class RejudgeChange:
    """A run with its old and its new outcome; new and new_run_id are empty if it was not judged."""

    run_id: str
    new_run_id: str
    task: str
    old: str
    new: str
    changed: bool
    old_accepted: int
    new_accepted: Optional[int] = None

    @classmethod
    @reading()
    def of(cls, said: Any) -> RejudgeChange:
        if not isinstance(said, dict) or not isinstance(said.get("run_id"), str):
            raise InfraError("the answer has no change: is this a brig service?", code="bad-answer")
        new = said.get("new") or {}
        return cls(
            run_id=said["run_id"],
            new_run_id=str(said.get("new_run_id") or ""),
            task=str(said.get("task") or ""),
            old=str(said["old"]["outcome"]),
            new=str(new.get("outcome") or ""),
            changed=said.get("changed") is True,
            old_accepted=int(said["old"].get("accepted") or 0),
            new_accepted=int(new["accepted"]) if "accepted" in new else None,
        )


def _again(run_id: str, code: Optional[Content], stdin: Optional[Content], limits: Optional[ResourceLimits], env_vars: Optional[Mapping[str, str]]) -> Tuple[str, Dict[str, Any]]:
    """Path and body of a run that is run again."""
    check(run_id=run_id, limits=limits, env_vars=env_vars)
    body: Dict[str, Any] = {}
    if code is not None:
        check(code=code)
        body["source"] = encode(code)
    if stdin is not None:
        check(stdin=stdin)
        body["stdin"] = encode(stdin)
    if limits is not None:
        body["limits"] = limits.to_api()
    if env_vars is not None:
        body["env"] = dict(env_vars)
    return "/v1/runs/" + quote(run_id, safe="") + "/again", body


def _chosen(problem: Optional[str], batch: Optional[str], runs: Optional[Sequence[str]], project: Optional[str], task: Optional[str], verdicts: Optional[Sequence[str]]) -> Dict[str, Any]:
    if problem is not None:
        check(problem=problem)
    check(batch=batch, runs=runs, project=project, task=task, verdicts=verdicts)
    body: Dict[str, Any] = {name: value for name, value in (("problem", problem), ("batch", batch), ("project", project), ("task", task)) if value}
    body.update({name: list(value) for name, value in (("runs", runs), ("verdicts", verdicts)) if value})
    if not {"problem", "batch", "runs"} & set(body):
        raise ValueError("nothing says which runs: give problem, batch or runs")
    return body


def _path(rejudge_id: str, what: str = "") -> str:
    check(rejudge_id=rejudge_id)
    return REJUDGES + "/" + quote(rejudge_id, safe="") + what


class Rejudges:
    """The methods of CodeSandbox for past runs that run again."""

    _http: Transport

    def run_again(
        self,
        run_id: str,
        *,
        code: Optional[Content] = None,
        stdin: Optional[Content] = None,
        limits: Optional[ResourceLimits] = None,
        env_vars: Optional[Mapping[str, str]] = None,
    ) -> ExecutionResult:
        """Runs what the service has kept of the request of a run again, with these changes.

        What it does not keep, such as environment variables, must be given: otherwise a
        RequestError (conflict) names it. The new run has an id of its own.
        """
        path, body = _again(run_id, code, stdin, limits, env_vars)
        return ExecutionResult.of(self._http.only("run_again").call("POST", path, body), "")

    def grade_again(self, run_id: str, *, code: Optional[Content] = None, limits: Optional[ResourceLimits] = None) -> Grade:
        """As run_again, for a run that a stored problem judged: by the problem as it is now."""
        path, body = _again(run_id, code, None, limits, None)
        return Grade.of(self._http.only("grade_again").call("POST", path, body), "", None)

    def rejudge(
        self,
        problem: Optional[str] = None,
        *,
        batch: Optional[str] = None,
        runs: Optional[Sequence[str]] = None,
        project: Optional[str] = None,
        task: Optional[str] = None,
        verdicts: Optional[Sequence[str]] = None,
    ) -> Rejudge:
        """Has past runs judged again, by their problems as they are now. A run must match all that is given.

        The old outcomes count until apply_rejudge. Ask get_rejudge until its state is ready.
        """
        body = _chosen(problem, batch, runs, project, task, verdicts)
        return Rejudge.of(self._http.only("rejudge").call("POST", REJUDGES, body, stays=True))

    def list_rejudges(self) -> List[Rejudge]:
        """The rejudges of this key, the newest first, without what was left out."""
        return [Rejudge.of(said) for said in list_of(self._http.only("list_rejudges").call("GET", REJUDGES))]

    def get_rejudge(self, rejudge_id: str) -> Rejudge:
        """How far a rejudge is."""
        path = _path(rejudge_id)
        return Rejudge.of(self._http.only("get_rejudge").call("GET", path))

    def rejudge_changes(self, rejudge_id: str) -> List[RejudgeChange]:
        """All runs whose outcome changed."""
        path, place = _path(rejudge_id, "/changes"), self._http.only("rejudge_changes")
        changes, after = [], ""
        while True:
            page = place.call("GET", path, query={"after": after} if after else {})
            changes += [RejudgeChange.of(said) for said in list_of(page)]
            after = str(page.get("next") or "")
            if not after:
                return changes

    def apply_rejudge(self, rejudge_id: str) -> Rejudge:
        """Has the new outcomes count: all at once, or none."""
        path = _path(rejudge_id, "/apply")
        return Rejudge.of(self._http.only("apply_rejudge").call("POST", path))

    def discard_rejudge(self, rejudge_id: str) -> Rejudge:
        """Keeps the old outcomes."""
        path = _path(rejudge_id, "/discard")
        return Rejudge.of(self._http.only("discard_rejudge").call("POST", path))


class AsyncRejudges:
    """The methods of AsyncCodeSandbox for past runs that run again."""

    _http: AsyncTransport

    async def run_again(
        self,
        run_id: str,
        *,
        code: Optional[Content] = None,
        stdin: Optional[Content] = None,
        limits: Optional[ResourceLimits] = None,
        env_vars: Optional[Mapping[str, str]] = None,
    ) -> ExecutionResult:
        """As CodeSandbox.run_again."""
        path, body = _again(run_id, code, stdin, limits, env_vars)
        return ExecutionResult.of(await self._http.only("run_again").call("POST", path, body), "")

    async def grade_again(self, run_id: str, *, code: Optional[Content] = None, limits: Optional[ResourceLimits] = None) -> Grade:
        """As CodeSandbox.grade_again."""
        path, body = _again(run_id, code, None, limits, None)
        return Grade.of(await self._http.only("grade_again").call("POST", path, body), "", None)

    async def rejudge(
        self,
        problem: Optional[str] = None,
        *,
        batch: Optional[str] = None,
        runs: Optional[Sequence[str]] = None,
        project: Optional[str] = None,
        task: Optional[str] = None,
        verdicts: Optional[Sequence[str]] = None,
    ) -> Rejudge:
        """As CodeSandbox.rejudge."""
        body = _chosen(problem, batch, runs, project, task, verdicts)
        return Rejudge.of(await self._http.only("rejudge").call("POST", REJUDGES, body, stays=True))

    async def list_rejudges(self) -> List[Rejudge]:
        """As CodeSandbox.list_rejudges."""
        return [Rejudge.of(said) for said in list_of(await self._http.only("list_rejudges").call("GET", REJUDGES))]

    async def get_rejudge(self, rejudge_id: str) -> Rejudge:
        """As CodeSandbox.get_rejudge."""
        path = _path(rejudge_id)
        return Rejudge.of(await self._http.only("get_rejudge").call("GET", path))

    async def rejudge_changes(self, rejudge_id: str) -> List[RejudgeChange]:
        """As CodeSandbox.rejudge_changes."""
        path, place = _path(rejudge_id, "/changes"), self._http.only("rejudge_changes")
        changes, after = [], ""
        while True:
            page = await place.call("GET", path, query={"after": after} if after else {})
            changes += [RejudgeChange.of(said) for said in list_of(page)]
            after = str(page.get("next") or "")
            if not after:
                return changes

    async def apply_rejudge(self, rejudge_id: str) -> Rejudge:
        """As CodeSandbox.apply_rejudge."""
        path = _path(rejudge_id, "/apply")
        return Rejudge.of(await self._http.only("apply_rejudge").call("POST", path))

    async def discard_rejudge(self, rejudge_id: str) -> Rejudge:
        """As CodeSandbox.discard_rejudge."""
        path = _path(rejudge_id, "/discard")
        return Rejudge.of(await self._http.only("discard_rejudge").call("POST", path))
