"""The client."""

from __future__ import annotations

import os
import ssl
from datetime import datetime, timezone
from typing import Any, Dict, Iterable, Iterator, List, Mapping, Optional, Sequence, Union
from urllib.parse import quote

from ._analysis import ErrorAnalysis, analyze
from ._batch import Batches
from ._errors import InfraError, RequestError, SandboxError, reading
from ._grading import CaseItem, Grade, case_of
from ._http import Transport
from ._limits import ResourceLimits, check_limits, span
from ._many import Item, execute_each
from ._network import to_api
from ._problems import Problems
from ._report import DebugReport
from ._result import Content, ExecutionResult, HistoryEntry, ResourceUsage, encode
from ._session import SESSIONS, Session, Volume
from ._suites import Suites

DEFAULT_URL = "http://127.0.0.1:8080"


class CodeSandbox(Batches, Problems, Suites):
    """Runs code in the sandboxes of one service. Safe for use by many threads.

    default_limits: limits of runs that set none; None: the service's defaults
    url:            http://host:port, https://host or unix:///path; None: $BRIG_URL, or http://127.0.0.1:8080
    api_key:        the bearer key; None: $BRIG_API_KEY, or none
    project, task:  labels of the runs in the history
    retries:        how often a failed request is retried if that is safe
    patience:       the longest wait between two tries, in seconds; if the service asks for more, there is no retry
    room_timeout:   for how many seconds a request is retried while the service is full; 0: no retry
    away_timeout:   for how many seconds a batch waits for a service that does not answer, or restarts
    answer_timeout: seconds to wait for a complete answer, including the time that a run waits for a slot
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
        away_timeout: float = 300,
        answer_timeout: float = 300,
        ssl_context: Optional[ssl.SSLContext] = None,
    ) -> None:
        if isinstance(default_limits, str):
            raise TypeError("default_limits must be ResourceLimits: to use another service write CodeSandbox(url=...)")
        check_limits(default_limits)
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
            away=away_timeout,
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
        allow: Optional[Sequence[str]] = None,
        requirements: Optional[Sequence[str]] = None,
        stdin: Content = "",
        mode: Optional[str] = None,
        timeline_seconds: Optional[float] = None,
        project: Optional[str] = None,
        task: Optional[str] = None,
    ) -> ExecutionResult:
        """Runs code and returns its result.

        files are placed next to the code before it starts; files that it writes there are in
        the result. read_only=False lets it also write elsewhere, into a layer that is
        discarded. mode is strict, fresh, or exclusive, in which the run shares no file of the
        image with other runs; None is the key's, else the agent's. If project or task is None,
        the client's value is used.

        With network_enabled the program reaches every public host on the ports 80 and 443, or,
        with allow, the hosts in that list alone: HOST, *.DOMAIN, ADDRESS or ADDRESS/BITS, each
        with :PORT or without. The service refuses (forbidden) what its operator does not offer.
        The network of the result says what the program reached.

        requirements are packages that the program finds, such as "numpy==2.*", if the service
        installs packages. If they cannot be installed, the RequestError has the code
        packages-failed and the installer's words.

        With timeline_seconds (0.005 to 60) the result has a timeline: memory, processor time and
        processes at such intervals.

        Raises InfraError if the service failed, RequestError if it refused the request.
        """
        network = to_api(network_enabled, allow)
        body = self._run(code, language, limits, env_vars, files, project, task)
        body.update(network)
        if isinstance(requirements, (str, bytes)):
            raise TypeError("requirements must be a list of packages")
        if requirements:
            body["requirements"] = list(requirements)
        if not read_only:
            body["writable_root"] = True
        if stdin:
            body["stdin"] = encode(stdin)
        if mode is not None:
            body["mode"] = mode
        if timeline_seconds is not None:
            body["timeline"] = {"every": span(timeline_seconds)}
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
        input_file: Optional[str] = None,
        output_file: Optional[str] = None,
        mode: Optional[str] = None,
        env_vars: Optional[Mapping[str, str]] = None,
        files: Optional[Mapping[str, Content]] = None,
        project: Optional[str] = None,
        task: Optional[str] = None,
    ) -> Grade:
        """Compiles code once, runs it on each test, and returns the grade.

        A test is a Case, a mapping of its fields, {"stdin": "1 2", "expected": "3"}, or
        a pair of input and expected output, ("1 2", "3").
        Each test is a separate run within limits, and the expected output is never in its
        sandbox. compare is lines (ignoring white space at line ends), tokens, float (tokens;
        numbers may differ by tolerance, 1e-6 if None) or exact. stop_at_failure starts no
        test after one that was not accepted. With input_file, such as "input.txt", the program
        finds the input in this file, and its stdin is empty; with output_file the file that it
        writes is judged instead of stdout, and is output of each result. With mode exclusive, tests share no file of the
        image.

        A program that fails gives a Grade too. Raises InfraError if the service failed,
        RequestError if it refused the request, ValueError without tests.
        """
        asked = [case_of(item).to_api(n) for n, item in enumerate(tests, 1)]
        if not asked:
            raise ValueError("there are no tests: use execute to run code without tests")
        body = self._run(code, language, limits, env_vars, files, project, task)
        body["tests"] = asked
        body["compare"] = {"how": compare}
        if tolerance is not None:
            body["compare"]["tolerance"] = tolerance
        if stop_at_failure:
            body["stop_at_failure"] = True
        if input_file is not None:
            body["input_file"] = input_file
        if output_file is not None:
            body["output_file"] = output_file
        if mode is not None:
            body["mode"] = mode
        return Grade.of(self._http.call("POST", "/v1/runs", body), language, len(asked))

    def _run(
        self,
        code: Content,
        language: str,
        limits: Optional[ResourceLimits],
        env_vars: Optional[Mapping[str, str]],
        files: Optional[Mapping[str, Content]],
        project: Optional[str],
        task: Optional[str],
    ) -> Dict[str, Any]:
        """The part that all requests for runs have in common."""
        body: Dict[str, Any] = {"language": language, "source": encode(code)}
        check_limits(limits)
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
        """Runs many items and yields each result as it arrives; result.index is the item's position.

        An item is code, or a mapping of execute's arguments. An item is taken when
        a thread is free. Errors of brig are raised after the last result, so that no result
        is lost: the error of the first failed item, with those of later items in others.
        """
        if concurrency < 1:
            raise ValueError(f"concurrency is {concurrency}: it must be positive")
        if isinstance(items, (str, bytes, Mapping)):
            raise TypeError("execute_many takes a list of items: for one item use execute, or put it in a list")
        return execute_each(self.execute, iter(items), concurrency)

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
        """Creates a long-lived sandbox: files, /tmp and background processes stay from one exec to the next.

        It has a language (python if neither is given), an image, in which only commands can
        run, or both: the language in that image. limits bound everything in it together, and timeout_seconds each exec. It ends
        after idle_seconds (300) without a request, and after life_seconds (3600) in any case.
        volume needs a project.

        A project and task can have one session at a time: a second one is a RequestError with
        the code conflict, whose session_id is the id of the first.
        """
        body: Dict[str, Any] = {}
        if image:
            body["image"] = image
        if language or not image:
            body["language"] = language or "python"
        check_limits(limits)
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
        """An existing session of this key, for example from a conflict."""
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
        """Removes a project's volume and its content. Raises RequestError (conflict) while a session uses it."""
        self._http.call("DELETE", "/v1/volumes/" + quote(project, safe=""))

    def list_supported_languages(self) -> List[str]:
        """The sorted names of the languages whose image is stored and up to date."""
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
        """The runs of this key, newest first; the last 1,000 if limit is None.

        If project or task is None, the client's value is used; "" means any.
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
        """The resource usage of a run, by the id of its result."""
        run = self._http.call("GET", "/v1/runs/" + quote(container_id, safe=""))
        with reading():
            return ResourceUsage.of(run.get("result") or run)

    def explain(self, run_id: str) -> ErrorAnalysis:
        """Classifies the error of an earlier run.

        Raises InfraError if brig could not judge the run, RequestError (not-done) if it has not ended.
        """
        run = self._http.call("GET", "/v1/runs/" + quote(run_id, safe=""))
        said = run if isinstance(run, dict) else {}
        if isinstance(said.get("error"), dict):
            raise InfraError(str(said["error"].get("detail") or "the run has no verdict"), code=str(said["error"].get("code") or "internal"), run_id=run_id)
        if said.get("state") in ("queued", "running"):
            raise RequestError(f"run {run_id} is {said['state']}: try again when it is done", code="not-done", run_id=run_id)
        return analyze(ExecutionResult.of(said.get("result"), ""))

    def cleanup_all_containers(self) -> int:
        """Ends this key's sessions and returns their number. Runs clean up after themselves."""
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
        """Classifies the error in a result or in a text from stderr."""
        return analyze(result)

    def create_debug_report(self, result: ExecutionResult, code: str = "") -> DebugReport:
        """A report on a result, with the state of the service."""
        try:
            service = self.health()
        except SandboxError as e:
            service = {"error": str(e)}
        return DebugReport.of(result, code, service)

    def health(self) -> Dict[str, Any]:
        """The service's status report: status, capacity, load, queue."""
        said = self._http.call("GET", "/health")
        return said if isinstance(said, dict) else {}

    def __enter__(self) -> CodeSandbox:
        return self

    def __exit__(self, *_: object) -> None:
        """There is nothing to release: connections and runs end by themselves."""


def _list(said: Any) -> List[Dict[str, Any]]:
    """The items of a list or of a page."""
    found = said.get("items") if isinstance(said, dict) else said
    if not isinstance(found, list):
        raise InfraError("the answer has no list: is this a brig service?", code="bad-answer")
    return found


def _rfc3339(at: Optional[datetime]) -> Optional[str]:
    if at is None:
        return None
    return at.astimezone(timezone.utc).isoformat().replace("+00:00", "Z")
