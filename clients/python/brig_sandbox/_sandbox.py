"""The client."""

from __future__ import annotations

import os
import ssl
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import replace
from datetime import datetime, timezone
from typing import Any, Dict, Iterable, Iterator, List, Mapping, Optional, Union
from urllib.parse import quote

from ._analysis import ErrorAnalysis, analyze
from ._errors import InfraError, RequestError, SandboxError, reading
from ._grading import CaseItem, Grade, case_of
from ._http import Transport
from ._limits import ResourceLimits, span
from ._report import DebugReport
from ._result import Content, ExecutionResult, HistoryEntry, ResourceUsage, encode
from ._session import SESSIONS, Session, Volume

DEFAULT_URL = "http://127.0.0.1:8080"

Item = Union[str, Mapping[str, Any]]


class CodeSandbox:
    """Runs code in the sandboxes of one service. Safe for use by many threads.

    default_limits: of runs that name none; None: the service's own
    url:            http://host:port, https://host or unix:///path; None: $BRIG_URL, or http://127.0.0.1:8080
    api_key:        the bearer key; None: $BRIG_API_KEY, or none
    project, task:  what the runs are listed under in the history
    retries:        further tries of a request that failed and may be sent again
    patience:       the longest wait between two tries, in seconds; a service that asks for more is not tried again
    room_timeout:   seconds that a request is sent again while the service is full; 0: not at all
    answer_timeout: seconds until an answer that is not there whole is given up; a run may wait for its turn
    """

    def __init__(
        self,
        default_limits: Optional[ResourceLimits] = None,
        *,
        url: Optional[str] = None,
        api_key: Optional[str] = None,
        project: str = "",
        task: str = "",
        retries: int = 3,
        patience: float = 30,
        room_timeout: float = 600,
        answer_timeout: float = 300,
        ssl_context: Optional[ssl.SSLContext] = None,
    ) -> None:
        if isinstance(default_limits, str):
            raise TypeError("default_limits are ResourceLimits: for a service elsewhere write CodeSandbox(url=...)")
        _check_limits(default_limits)
        self.default_limits = default_limits
        self.project = project
        self.task = task
        self._http = Transport(
            url or os.environ.get("BRIG_URL") or DEFAULT_URL,
            api_key or os.environ.get("BRIG_API_KEY") or None,
            timeout=answer_timeout,
            retries=retries,
            patience=patience,
            room=room_timeout,
            context=ssl_context,
        )

    def execute(
        self,
        code: str,
        language: str = "python",
        limits: Optional[ResourceLimits] = None,
        network_enabled: bool = False,
        env_vars: Optional[Mapping[str, str]] = None,
        files: Optional[Mapping[str, Content]] = None,
        read_only: bool = True,
        *,
        stdin: Content = "",
        mode: Optional[str] = None,
        project: Optional[str] = None,
        task: Optional[str] = None,
    ) -> ExecutionResult:
        """Runs code and gives how it ended.

        files are placed beside the code before it starts; what it writes there comes
        back in the result. read_only=False lets it write elsewhere too, into a layer
        that is thrown away. mode is strict (None), fresh, or exclusive, in which no other
        run has a file of the image in common with it. brig has no network: network_enabled is refused before
        anything is sent. project and task are the client's own where they are None.

        Raises InfraError when the service failed, RequestError when it refused.
        """
        if network_enabled:
            raise RequestError("network_enabled=True: brig gives programs no network; pass what they need in files", code="unsupported")
        body = self._run(code, language, limits, env_vars, files, project, task)
        if not read_only:
            body["writable_root"] = True
        if stdin:
            body["stdin"] = encode(stdin)
        if mode is not None:
            body["mode"] = mode
        return ExecutionResult.of(self._http.call("POST", "/v1/runs", body), language)

    def run_tests(
        self,
        code: str,
        tests: Iterable[CaseItem],
        language: str = "python",
        limits: Optional[ResourceLimits] = None,
        *,
        compare: str = "lines",
        tolerance: Optional[float] = None,
        stop_at_failure: bool = False,
        mode: Optional[str] = None,
        env_vars: Optional[Mapping[str, str]] = None,
        files: Optional[Mapping[str, Content]] = None,
        project: Optional[str] = None,
        task: Optional[str] = None,
    ) -> Grade:
        """Compiles code once, runs it on each test, and gives how it did.

        A test is a Case, a mapping of its fields, {"stdin": "1 2", "expected": "3"}, or
        a pair of input and expected output, ("1 2", "3").
        Each is a run of its own within limits, and never has what is expected near it.
        compare is lines (without white space at their ends), tokens, float (tokens, where
        numbers may differ by tolerance, 1e-6 if None) or exact. stop_at_failure begins no
        test after one that was not accepted. With mode exclusive no test has a
        file of the image in common with another.

        A program that fails is a Grade. Raises InfraError when the service failed,
        RequestError when it refused, ValueError without tests.
        """
        asked = [case_of(item).to_api(n) for n, item in enumerate(tests, 1)]
        if not asked:
            raise ValueError("there are no tests: execute runs code without any")
        body = self._run(code, language, limits, env_vars, files, project, task)
        body["tests"] = asked
        body["compare"] = {"how": compare}
        if tolerance is not None:
            body["compare"]["tolerance"] = tolerance
        if stop_at_failure:
            body["stop_at_failure"] = True
        if mode is not None:
            body["mode"] = mode
        return Grade.of(self._http.call("POST", "/v1/runs", body), language, len(asked))

    def _run(
        self,
        code: str,
        language: str,
        limits: Optional[ResourceLimits],
        env_vars: Optional[Mapping[str, str]],
        files: Optional[Mapping[str, Content]],
        project: Optional[str],
        task: Optional[str],
    ) -> Dict[str, Any]:
        """What every run's request has."""
        body: Dict[str, Any] = {"language": language, "source": encode(code)}
        _check_limits(limits)
        limits = limits or self.default_limits
        if limits is not None:
            body["limits"] = limits.to_api()
        if env_vars:
            body["env"] = dict(env_vars)
        if files:
            body["files"] = [{"name": name, "content": encode(content)} for name, content in files.items()]
        labels = self._labels(project, task)
        if labels:
            body["labels"] = labels
        return body

    def execute_many(self, items: Iterable[Item], concurrency: int = 4) -> Iterator[ExecutionResult]:
        """Runs many and yields each result as it comes; result.index is the item's position.

        An item is code, or a mapping of execute's arguments. Items are taken as there is
        room. What brig could not run is raised after the last result, so that no result
        is lost: the error of the first such item, with those of later ones in others.
        """
        if concurrency < 1:
            raise ValueError(f"concurrency is {concurrency}: it must be positive")
        if isinstance(items, (str, bytes, Mapping)):
            raise TypeError("execute_many takes a list of items: for one, write execute, or put it in a list")
        return self._execute_many(iter(items), concurrency)

    def _execute_many(self, items: Iterator[Item], concurrency: int) -> Iterator[ExecutionResult]:
        failed: List[SandboxError] = []
        with ThreadPoolExecutor(concurrency, thread_name_prefix="brig") as pool:
            waiting: Dict[Future[ExecutionResult], int] = {}
            index, more = 0, True
            while True:
                while more and len(waiting) < concurrency:
                    try:
                        item = next(items)
                    except StopIteration:
                        more = False
                        break
                    arguments: Dict[str, Any] = {"code": item} if isinstance(item, str) else dict(item)
                    waiting[pool.submit(self.execute, **arguments)] = index
                    index += 1
                if not waiting:
                    break
                done, _ = wait(waiting, return_when=FIRST_COMPLETED)
                for future in done:
                    position = waiting.pop(future)
                    try:
                        result = future.result()
                    except SandboxError as e:
                        e.index = position
                        failed.append(e)
                    else:
                        yield replace(result, index=position)
        if failed:
            failed.sort(key=lambda e: e.index or 0)
            failed[0].others = failed[1:]
            raise failed[0]

    def _labels(self, project: Optional[str], task: Optional[str]) -> Dict[str, str]:
        own = (("project", self.project if project is None else project), ("task", self.task if task is None else task))
        return {k: v for k, v in own if v}

    def create_session(
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
        idle_seconds: Optional[float] = None,
        life_seconds: Optional[float] = None,
    ) -> Session:
        """Makes a sandbox that lasts: files, /tmp and background processes stay from one exec to the next.

        It is of a language (python where neither is named) or of an image, which has
        commands only. limits bound all that is in it together, and timeout_seconds each
        exec. It ends when nothing was asked of it for idle_seconds (300), and after
        life_seconds (3600) whatever goes on. volume needs a project.

        Of a project and task there is one session at a time: a second is a RequestError
        with the code conflict, whose session_id is the first one's.
        """
        if image and language:
            raise ValueError("a session is of a language or of an image, not of both")
        body: Dict[str, Any] = {"image": image} if image else {"language": language or "python"}
        _check_limits(limits)
        limits = limits or self.default_limits
        if limits is not None:
            all_of_it = limits.to_api()
            body["exec_limits"] = {"wall": all_of_it.pop("wall")}
            body["limits"] = all_of_it
        labels = self._labels(project, task)
        if labels:
            body["labels"] = labels
        if volume is not None:
            body["volume"] = volume.to_api()
        if env_vars:
            body["env"] = dict(env_vars)
        if not read_only:
            body["writable_root"] = True
        for name, time in (("idle", idle_seconds), ("life", life_seconds)):
            if time is not None:
                body[name] = span(time)
        return Session(self._http, self._http.call("POST", SESSIONS, body))

    def get_session(self, session_id: str) -> Session:
        """A session of this key that was made before, such as the one of a conflict."""
        return Session(self._http, self._http.call("GET", SESSIONS + "/" + quote(session_id, safe="")))

    def list_sessions(self) -> List[Session]:
        """The sessions of this key."""
        return [Session(self._http, said) for said in _list(self._http.call("GET", SESSIONS))]

    def list_volumes(self) -> Dict[str, int]:
        """The projects of this key that have a volume, with its size in bytes."""
        said = self._http.call("GET", "/v1/volumes")
        with reading():
            return {str(v["name"]): int(v["size"]) for v in _list(said)}

    def delete_volume(self, project: str) -> None:
        """Removes a project's volume with all that is in it; a RequestError, conflict, while a session has it."""
        self._http.call("DELETE", "/v1/volumes/" + quote(project, safe=""))

    def list_supported_languages(self) -> List[str]:
        """The names of the languages whose image is there and not older than the language, in order."""
        said = self._http.call("GET", "/v1/languages")
        with reading():
            languages = _list(said)
            return sorted(str(lang["name"]) for lang in languages if lang.get("stored", True) and not lang.get("lacks"))

    def get_execution_history(
        self,
        *,
        project: Optional[str] = None,
        task: Optional[str] = None,
        language: Optional[str] = None,
        verdict: Optional[str] = None,
        since: Optional[datetime] = None,
        until: Optional[datetime] = None,
        limit: Optional[int] = None,
    ) -> List[HistoryEntry]:
        """The runs of this key, newest first; the last 1,000 where limit is None.

        project and task are the client's own where they are None; "" is any.
        """
        query = {
            "project": self.project if project is None else project,
            "task": self.task if task is None else task,
            "language": language,
            "verdict": verdict,
            "since": _rfc3339(since),
            "until": _rfc3339(until),
        }
        runs: List[HistoryEntry] = []
        most = 1000 if limit is None else limit
        while len(runs) < most:
            page = self._http.call("GET", "/v1/history", query={**query, "limit": min(most - len(runs), 1000)})
            with reading():
                found = [HistoryEntry.of(run) for run in _list(page)]
                query["after"] = page.get("next")
            runs += found
            if not query["after"] or not found:
                break
        return runs

    def get_resource_usage(self, container_id: str) -> ResourceUsage:
        """What a run uses, or used, by the id of its result."""
        run = self._http.call("GET", "/v1/runs/" + quote(container_id, safe=""))
        with reading():
            return ResourceUsage.of(run.get("result") or run)

    def explain(self, run_id: str) -> ErrorAnalysis:
        """What kind of error a run of the past met.

        Raises InfraError where brig could not judge it, RequestError, not-done, where it has not ended.
        """
        run = self._http.call("GET", "/v1/runs/" + quote(run_id, safe=""))
        said = run if isinstance(run, dict) else {}
        if isinstance(said.get("error"), dict):
            raise InfraError(str(said["error"].get("detail") or "it was not judged"), code=str(said["error"].get("code") or "internal"), run_id=run_id)
        if said.get("state") in ("queued", "running"):
            raise RequestError(f"run {run_id} is {said['state']}: ask again when it is done", code="not-done", run_id=run_id)
        return analyze(ExecutionResult.of(said.get("result"), ""))

    def cleanup_all_containers(self) -> int:
        """Ends this key's sessions and gives how many there were. Runs clean up after themselves."""
        ended = 0
        for session in self.list_sessions():
            try:
                self._http.call("DELETE", SESSIONS + "/" + quote(session.id, safe=""))
                ended += 1
            except RequestError as e:
                if e.status not in (404, 410):  # it ended by itself
                    raise
        return ended

    def analyze_error(self, result: Union[ExecutionResult, str]) -> ErrorAnalysis:
        """What kind of error a result, or what a program wrote to stderr, tells of."""
        return analyze(result)

    def create_debug_report(self, result: ExecutionResult, code: str = "") -> DebugReport:
        """All there is to say of a result, with the state of the service."""
        try:
            service = self.health()
        except SandboxError as e:
            service = {"error": str(e)}
        return DebugReport.of(result, code, service)

    def health(self) -> Dict[str, Any]:
        """What the service says of itself: status, capacity, load, queue."""
        said = self._http.call("GET", "/health")
        return said if isinstance(said, dict) else {}

    def __enter__(self) -> CodeSandbox:
        return self

    def __exit__(self, *_: object) -> None:
        """There is nothing to give back: connections and runs end by themselves."""


def _check_limits(limits: object) -> None:
    if limits is not None and not isinstance(limits, ResourceLimits):
        raise TypeError(f'limits are ResourceLimits, such as ResourceLimits(memory_limit="256m", timeout_seconds=5), not {limits!r:.80}')


def _list(said: Any) -> List[Dict[str, Any]]:
    """A list, or the items of a page."""
    found = said.get("items") if isinstance(said, dict) else said
    if not isinstance(found, list):
        raise InfraError("the service answers without a list: is it a brig service?", code="bad-answer")
    return found


def _rfc3339(at: Optional[datetime]) -> Optional[str]:
    if at is None:
        return None
    return at.astimezone(timezone.utc).isoformat().replace("+00:00", "Z")
