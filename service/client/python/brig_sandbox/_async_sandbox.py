"""The asynchronous client."""

from __future__ import annotations

import asyncio
import copy
import ssl
from typing import Any, AsyncIterator, Dict, Iterable, Iterator, List, Mapping, Optional, Sequence, Tuple, Union
from urllib.parse import quote

from ._addresses import Address
from ._analysis import ErrorAnalysis
from ._async_following import follow_async
from ._async_http import AsyncTransport
from ._async_many import execute_each
from ._async_session import AsyncSession
from ._batch import JobItem, JobResult, Jobs, Scores, attached
from ._batches import deadline
from ._blobs import FileContent, blob_path
from ._checks import check, check_items
from ._client import Client, explained
from ._ended import Ended, all_of
from ._errors import SandboxError
from ._following import Following, Progress
from ._grading import CaseItem, Grade
from ._limits import ResourceLimits
from ._links import AsyncLinks
from ._many import Item, ShowMany
from ._problem import parsed
from ._rejudges import AsyncRejudges
from ._request import END, json_request
from ._result import Blob, Content, ExecutionResult
from ._retrying import Policy
from ._runs import list_of
from ._sandbox import check_volume
from ._session import SESSIONS, Volume
from ._snapshots import SNAPSHOTS, Snapshot, snapshot_path
from ._spread import judge_spread
from ._wire import closing


class AsyncCodeSandbox(Client, AsyncLinks, AsyncRejudges):
    """As CodeSandbox, for asyncio: same arguments, same results, same errors.

    One client serves any number of tasks of one event loop; it keeps as many connections as are
    used at the same time. What is rarely needed in a loop (history, problems, volumes) is in
    CodeSandbox alone.
    """

    _http: AsyncTransport

    def _connect(self, addresses: List[Address], key: Optional[str], *, timeout: float, policy: Policy, context: Optional[ssl.SSLContext]) -> None:
        self._http = AsyncTransport(addresses, key, timeout=timeout, policy=policy, context=context)

    async def execute(
        self,
        code: str,
        language: str = "python",
        limits: Optional[ResourceLimits] = None,
        network_enabled: bool = False,
        env_vars: Optional[Mapping[str, str]] = None,
        files: Optional[Mapping[str, FileContent]] = None,
        read_only: bool = True,
        *,
        allow: Optional[Sequence[str]] = None,
        requirements: Optional[Sequence[str]] = None,
        stdin: Content = "",
        mode: Optional[str] = None,
        timeline_seconds: Optional[float] = None,
        keep_files: bool = False,
        project: Optional[str] = None,
        task: Optional[str] = None,
    ) -> ExecutionResult:
        """As CodeSandbox.execute."""
        body = self._execute_body(
            code, language, limits, network_enabled, env_vars, files, read_only, allow, requirements, stdin, mode, timeline_seconds, keep_files, project, task
        )
        return ExecutionResult.of(await self._http.call("POST", "/v1/runs", body), language)

    async def read_blob(self, blob: Union[Blob, str]) -> bytes:
        """As CodeSandbox.read_blob."""
        return await self._http.transfer("GET", blob_path(blob))

    async def run_tests(
        self,
        code: str,
        tests: Iterable[CaseItem],
        language: str = "python",
        limits: Optional[ResourceLimits] = None,
        *,
        compare: str = "lines",
        tolerance: Optional[float] = None,
        stop_at_failure: bool = False,
        input_file: Optional[str] = None,
        output_file: Optional[str] = None,
        mode: Optional[str] = None,
        env_vars: Optional[Mapping[str, str]] = None,
        files: Optional[Mapping[str, Content]] = None,
        project: Optional[str] = None,
        task: Optional[str] = None,
    ) -> Grade:
        """As CodeSandbox.run_tests."""
        body = self._tests_body(
            code, tests, language, limits, compare, tolerance, stop_at_failure, input_file, output_file, mode, env_vars, files, project, task
        )
        return Grade.of(await self._http.call("POST", "/v1/runs", body), language, len(body["tests"]))

    async def grade(
        self,
        problem: str,
        source: Content,
        language: str = "python",
        limits: Optional[ResourceLimits] = None,
        *,
        files: Optional[Mapping[str, Content]] = None,
        stop_at_failure: bool = False,
        mode: Optional[str] = None,
        project: Optional[str] = None,
        task: Optional[str] = None,
    ) -> Grade:
        """As CodeSandbox.grade."""
        body = self._grade_body(problem, source, language, limits, files, stop_at_failure, mode, project, task)
        return Grade.of(await self._http.call("POST", "/v1/runs", body), language, None)

    async def run_suite(
        self,
        code: Content,
        files: Mapping[str, Content],
        report: str = "pytest",
        language: Optional[str] = None,
        limits: Optional[ResourceLimits] = None,
        *,
        source_name: Optional[str] = None,
        command: Optional[Sequence[str]] = None,
        cases: Optional[int] = None,
        mode: Optional[str] = None,
        env_vars: Optional[Mapping[str, str]] = None,
        project: Optional[str] = None,
        task: Optional[str] = None,
    ) -> Grade:
        """As CodeSandbox.run_suite."""
        body = self._suite_body(code, files, report, language, limits, source_name, command, cases, mode, env_vars, project, task)
        return Grade.of(await self._http.call("POST", "/v1/runs", body), str(body["language"]), None)

    def execute_many(
        self,
        items: Iterable[Item],
        concurrency: int = 32,
        *,
        progress: ShowMany = None,
        deadline_seconds: Optional[float] = None,
    ) -> AsyncIterator[ExecutionResult]:
        """As CodeSandbox.execute_many: async for has each result as it arrives."""
        check(concurrency=concurrency, progress=progress, deadline_seconds=deadline_seconds)
        if concurrency < 1:
            raise ValueError(f"concurrency is {concurrency}: it must be positive")
        check_items("execute_many", items)
        patient = copy.copy(self)
        patient._http = self._http.patient(deadline(deadline_seconds))
        return execute_each(patient.execute, iter(items), concurrency, progress)

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
    ) -> AsyncIterator[JobResult]:
        """As CodeSandbox.grade_many: async for has each result as it arrives."""
        check(key=key, progress=progress, deadline_seconds=deadline_seconds)
        head = self._batch_head(limits, keep_results, project, task)
        return _grade_many(self._http, jobs, head, key, progress, deadline_seconds)

    def attach(self, batch_id: str, *, progress: Progress = None, deadline_seconds: Optional[float] = None) -> AsyncIterator[JobResult]:
        """As CodeSandbox.attach."""
        check(batch_id=batch_id, progress=progress, deadline_seconds=deadline_seconds)
        if not batch_id:
            raise ValueError("batch_id is empty")
        return _attach(self._http.only("attach"), batch_id, progress, deadline_seconds)

    async def score_many(
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
        """As CodeSandbox.score_many."""
        check_items("score_many", jobs)
        all_jobs = list(jobs)
        scores = Scores(len(all_jobs))
        async for result in self.grade_many(all_jobs, limits, key=key, progress=progress, deadline_seconds=deadline_seconds, project=project, task=task):
            scores.add(result)
        return scores.done()

    async def create_session(
        self,
        language: Optional[str] = None,
        *,
        image: Optional[str] = None,
        project: Optional[str] = None,
        task: Optional[str] = None,
        limits: Optional[ResourceLimits] = None,
        volume: Optional[Volume] = None,
        env_vars: Optional[Mapping[str, str]] = None,
        read_only: bool = True,
        requirements: Optional[Sequence[str]] = None,
        idle_seconds: Optional[float] = None,
        life_seconds: Optional[float] = None,
        snapshot: Optional[str] = None,
        own_image: bool = False,
    ) -> AsyncSession:
        """As CodeSandbox.create_session."""
        check_volume(volume, self._http.addresses)
        body = self._session_body(
            language, image, project, task, limits, None if volume is None else volume.to_api(), env_vars, read_only, requirements, idle_seconds, life_seconds, snapshot, own_image
        )
        answer = await self._http.ask(json_request("POST", SESSIONS, body, stays=True))
        return AsyncSession(self._http.at(answer.address), parsed(answer.body, answer.address.url))

    async def get_session(self, session_id: str) -> AsyncSession:
        """As CodeSandbox.get_session."""
        check(session_id=session_id)
        place = self._http.only("get_session")
        return AsyncSession(place, await place.call("GET", SESSIONS + "/" + quote(session_id, safe="")))

    async def list_snapshots(self) -> List[Snapshot]:
        """As CodeSandbox.list_snapshots."""
        return [Snapshot.of(said) for said in list_of(await self._http.only("list_snapshots").call("GET", SNAPSHOTS))]

    async def delete_snapshot(self, snapshot: str) -> None:
        """As CodeSandbox.delete_snapshot."""
        await self._http.only("delete_snapshot").call("DELETE", snapshot_path(snapshot))

    async def end_run(self, run: Optional[str] = None, *, project: str = "") -> Ended:
        """As CodeSandbox.end_run."""
        body = self._end_body(run, project)

        async def end_at(address: Address) -> Union[Ended, SandboxError]:
            try:
                return Ended.of(await self._http.at(address).call("POST", END, body))
            except SandboxError as e:
                return e

        return all_of(await asyncio.gather(*[end_at(address) for address in self._http.addresses]))

    async def explain(self, run_id: str) -> ErrorAnalysis:
        """As CodeSandbox.explain."""
        check(run_id=run_id)
        return explained(await self._http.only("explain").call("GET", "/v1/runs/" + quote(run_id, safe="")), run_id)

    async def health(self) -> Dict[str, Any]:
        """As CodeSandbox.health."""
        said = await self._http.only("health").call("GET", "/health")
        return said if isinstance(said, dict) else {}

    def each(self) -> Iterator[AsyncCodeSandbox]:
        """As CodeSandbox.each."""
        for address in self._http.addresses:
            one = copy.copy(self)
            one._http = self._http.at(address)
            yield one

    def close(self) -> None:
        """Closes the kept connections. The client can still be used; sessions and runs go on."""
        self._http.close()

    async def __aenter__(self) -> AsyncCodeSandbox:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.close()


async def _grade_many(
    transport: AsyncTransport, items: Iterable[JobItem], head: Dict[str, Any], key: str, progress: Progress, seconds: Optional[float]
) -> AsyncIterator[JobResult]:
    jobs = Jobs(items, head, key)
    if not len(jobs):
        return
    policy = transport.policy.patient(deadline(seconds))
    if len(transport.addresses) > 1:
        async with closing(judge_spread(transport, policy, jobs, progress)) as results:
            async for result in results:
                yield result
        return
    address = transport.addresses[0]
    body, exchange = jobs.share()
    async with closing(follow_async(transport, Following(address, policy, body, exchange, len(jobs), progress), address)) as lines:
        async for said in lines:
            found = jobs.result(said)
            if found is not None:
                yield found


async def _attach(transport: AsyncTransport, batch_id: str, progress: Progress, seconds: Optional[float]) -> AsyncIterator[JobResult]:
    address = transport.addresses[0]
    policy = transport.policy.patient(deadline(seconds))
    state = Following(address, policy, None, "", 0, progress, "/v1/batches/" + quote(batch_id, safe=""))
    async with closing(follow_async(transport, state, address)) as lines:
        async for said in lines:
            yield attached(said)
