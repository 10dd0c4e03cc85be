"""The synchronous client."""

from __future__ import annotations

import copy
import ssl
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timezone
from typing import Any, Dict, Iterable, Iterator, List, Mapping, Optional, Sequence, Set, Union
from urllib.parse import quote

from ._addresses import Address
from ._analysis import ErrorAnalysis, analyze
from ._batches import Batches, deadline
from ._blobs import FileContent, blob_path
from ._checks import check, check_items
from ._client import Client, explained
from ._ended import Ended, all_of
from ._errors import RequestError, SandboxError, reading
from ._grading import CaseItem, Grade
from ._http import Transport
from ._limits import ResourceLimits
from ._links import Links
from ._many import Item, ShowMany, execute_each
from ._problem import parsed
from ._problems import Problems
from ._rejudges import Rejudges
from ._report import DebugReport
from ._request import END, json_request
from ._result import Blob, Content, ExecutionResult, HistoryEntry, ResourceUsage
from ._retrying import Policy
from ._runs import list_of
from ._session import SESSIONS, Session, Volume
from ._snapshots import SNAPSHOTS, Snapshot, snapshot_path
from ._suites import Suites


class CodeSandbox(Client, Batches, Problems, Suites, Links, Rejudges):
    __doc__ = f"""Runs code in the sandboxes of a service. Safe for use by many threads, which share its connections.

    {(Client.__doc__ or "").partition("client.")[2].strip()}
    """

    _http: Transport

    def _connect(self, addresses: List[Address], key: Optional[str], *, timeout: float, policy: Policy, context: Optional[ssl.SSLContext]) -> None:
        self._http = Transport(addresses, key, timeout=timeout, policy=policy, context=context)

    def execute(
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

        With keep_files the service keeps the files that the program writes, and result.blobs names
        them: put them into files of a later run, or read them with read_blob. They are for this
        key alone, and stay until others take their place. A client of several addresses finds
        them at one of these alone.

        Raises InfraError if the service failed, RequestError if it refused the request.
        """
        body = self._execute_body(
            code, language, limits, network_enabled, env_vars, files, read_only, allow, requirements, stdin, mode, timeline_seconds, keep_files, project, task
        )
        return ExecutionResult.of(self._http.call("POST", "/v1/runs", body), language)

    def read_blob(self, blob: Union[Blob, str]) -> bytes:
        """The content of a blob of ExecutionResult.blobs. Raises RequestError (unknown-blob) if it is no longer kept."""
        return self._http.transfer("GET", blob_path(blob))

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
        body = self._tests_body(
            code, tests, language, limits, compare, tolerance, stop_at_failure, input_file, output_file, mode, env_vars, files, project, task
        )
        return Grade.of(self._http.call("POST", "/v1/runs", body), language, len(body["tests"]))

    def execute_many(
        self,
        items: Iterable[Item],
        concurrency: int = 4,
        *,
        progress: ShowMany = None,
        deadline_seconds: Optional[float] = None,
    ) -> Iterator[ExecutionResult]:
        """Runs many items and yields each result as it arrives; result.index is the item's position.

        An item is code, or a mapping of execute's arguments. An item is taken when
        a thread is free. Errors of brig are raised after the last result, so that no result
        is lost: the error of the first failed item, with those of later items in others.

        A service that is full, away or restarting is waited for: for deadline_seconds since the
        call began, or without it as long as room_timeout and away_timeout say. A run whose
        connection broke is sent again, unless its program has a network: it had no effect outside
        of its sandbox. progress is True, to print to stderr, or a function of ManyProgress.
        """
        check(concurrency=concurrency, progress=progress, deadline_seconds=deadline_seconds)
        if concurrency < 1:
            raise ValueError(f"concurrency is {concurrency}: it must be positive")
        check_items("execute_many", items)
        patient = copy.copy(self)
        patient._http = self._http.patient(deadline(deadline_seconds))
        return execute_each(patient.execute, iter(items), concurrency, progress)

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
        requirements: Optional[Sequence[str]] = None,
        idle_seconds: Optional[float] = None,
        life_seconds: Optional[float] = None,
        snapshot: Optional[str] = None,
        own_image: bool = False,
    ) -> Session:
        """Creates a long-lived sandbox: files, /tmp and background processes stay from one exec to the next.

        It has a language (python if neither is given), an image, in which only commands can
        run, or both: the language in that image. limits bound everything in it together, and timeout_seconds each exec. It ends
        after idle_seconds (300) without a request, and after life_seconds (3600) in any case.
        volume needs a project. requirements are as in execute. snapshot is the id or name of a
        snapshot, with whose files it begins, and with its language and image if none is given.
        read_only=False lets programs write anywhere, into a layer that is discarded; with
        own_image they also see themselves as root, if the service permits that to the key.

        A project and task can have one session at a time: a second one is a RequestError with
        the code conflict, whose session_id is the id of the first.
        """
        check_volume(volume, self._http.addresses)
        body = self._session_body(
            language, image, project, task, limits, None if volume is None else volume.to_api(), env_vars, read_only, requirements, idle_seconds, life_seconds, snapshot, own_image
        )
        answer = self._http.ask(json_request("POST", SESSIONS, body, stays=True))
        return Session(self._http.at(answer.address), parsed(answer.body, answer.address.url))

    def get_session(self, session_id: str) -> Session:
        """An existing session of this key, for example from a conflict."""
        check(session_id=session_id)
        return Session(self._http, self._http.only("get_session").call("GET", SESSIONS + "/" + quote(session_id, safe="")))

    def list_sessions(self) -> List[Session]:
        """The sessions of this key, at all addresses."""
        places = [self._http.at(address) for address in self._http.addresses]
        return [Session(place, said) for place in places for said in list_of(place.call("GET", SESSIONS))]

    def list_volumes(self) -> Dict[str, int]:
        """The projects of this key that have a volume, with its size in bytes; temporary volumes are not among them."""
        said = self._http.only("list_volumes").call("GET", "/v1/volumes")
        with reading():
            return {str(v["name"]): int(v["size"]) for v in list_of(said) if not v.get("run")}

    def delete_volume(self, project: str) -> None:
        """Removes a project's volume and its content. Raises RequestError (conflict) while a session uses it."""
        check(project=project)
        self._http.only("delete_volume").call("DELETE", "/v1/volumes/" + quote(project, safe=""))

    def list_snapshots(self) -> List[Snapshot]:
        """The snapshots of this key, the latest first."""
        return [Snapshot.of(said) for said in list_of(self._http.only("list_snapshots").call("GET", SNAPSHOTS))]

    def delete_snapshot(self, snapshot: str) -> None:
        """Removes a snapshot, by id or name. Sessions that began with it keep their files."""
        self._http.only("delete_snapshot").call("DELETE", snapshot_path(snapshot))

    def end_run(self, run: Optional[str] = None, *, project: str = "") -> Ended:
        """Ends all that has a run as label, and returns how much that was when it has ended.

        These are runs that wait or are executed, sessions, batches and temporary volumes of this
        key, at all addresses. With project, only what also has that project. If run is None, it is
        that of the client. To end nothing is no error, so it may be called again.

        Raises ValueError if there is no run to end, InfraError if the service failed. With several
        addresses that comes when all others have ended theirs: if more failed, they are in others.
        """
        body = self._end_body(run, project)

        def end_at(address: Address) -> Union[Ended, SandboxError]:
            try:
                return Ended.of(self._http.at(address).call("POST", END, body))
            except SandboxError as e:
                return e

        # At the same time: one that does not answer must not keep the others from it.
        with ThreadPoolExecutor(len(self._http.addresses), thread_name_prefix="brig") as pool:
            return all_of(list(pool.map(end_at, self._http.addresses)))

    def list_supported_languages(self) -> List[str]:
        """The sorted names of the languages whose image is stored and up to date, at each address."""
        found: Optional[Set[str]] = None
        for address in self._http.addresses:
            said = self._http.at(address).call("GET", "/v1/languages")
            with reading():
                here = {str(lang["name"]) for lang in list_of(said) if lang.get("stored", True) and not lang.get("lacks")}
            found = here if found is None else found & here
        return sorted(found or ())

    def get_execution_history(
        self,
        *,
        project: Optional[str] = None,
        task: Optional[str] = None,
        run: str = "",
        language: Optional[str] = None,
        verdict: Optional[str] = None,
        since: Optional[datetime] = None,
        until: Optional[datetime] = None,
        limit: Optional[int] = None,
    ) -> List[HistoryEntry]:
        """The runs of this key, newest first; the last 1,000 if limit is None.

        If project or task is None, the client's value is used; "" means any. run is the label:
        by default the runs of all of them, and not only those of the client's.
        """
        check(project=project, task=task, run=run, language=language, verdict=verdict, limit=limit)
        for name, moment in (("since", since), ("until", until)):
            if moment is not None and not isinstance(moment, datetime):
                raise TypeError(f"{name} is {moment!r:.80}: write a datetime, such as datetime.now(timezone.utc)")
        place = self._http.only("get_execution_history")
        query = {
            "project": self.project if project is None else project,
            "task": self.task if task is None else task,
            "run": run,
            "language": language,
            "verdict": verdict,
            "since": _rfc3339(since),
            "until": _rfc3339(until),
        }
        runs: List[HistoryEntry] = []
        most = 1000 if limit is None else limit
        while len(runs) < most:
            page = place.call("GET", "/v1/history", query={**query, "limit": min(most - len(runs), 1000)})
            with reading():
                found = [HistoryEntry.of(run) for run in list_of(page)]
                query["after"] = page.get("next")
            runs += found
            if not query["after"] or not found:
                break
        return runs

    def get_resource_usage(self, container_id: str) -> ResourceUsage:
        """The resource usage of a run, by the id of its result."""
        check(container_id=container_id)
        run = self._http.only("get_resource_usage").call("GET", "/v1/runs/" + quote(container_id, safe=""))
        with reading():
            return ResourceUsage.of(run.get("result") or run)

    def explain(self, run_id: str) -> ErrorAnalysis:
        """Classifies the error of an earlier run.

        Raises InfraError if brig could not judge the run, RequestError (not-done) if it has not ended.
        """
        check(run_id=run_id)
        return explained(self._http.only("explain").call("GET", "/v1/runs/" + quote(run_id, safe="")), run_id)

    def cleanup_all_containers(self) -> int:
        """Ends this key's sessions and returns their number. Runs clean up after themselves."""
        ended = 0
        for session in self.list_sessions():
            try:
                session.end()
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
        said = self._http.only("health").call("GET", "/health")
        return said if isinstance(said, dict) else {}

    def each(self) -> Iterator[CodeSandbox]:
        """A client for each address, to ask one service: for its health, history, problems or volumes."""
        for address in self._http.addresses:
            one = copy.copy(self)
            one._http = self._http.at(address)
            yield one

    def close(self) -> None:
        """Closes the kept connections. The client can still be used; sessions and runs go on."""
        self._http.close()

    def __enter__(self) -> CodeSandbox:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def check_volume(volume: object, addresses: Sequence[Address]) -> None:
    """Refuses what is no volume, and one of which nobody could say where it is."""
    if volume is None:
        return
    if not isinstance(volume, Volume):
        raise TypeError(f'volume is {volume!r:.80}: write a Volume, such as Volume(size="64m")')
    if len(addresses) > 1:
        raise ValueError(f"a volume is at one service, and this client has {len(addresses)}: use one of box.each()")


def _rfc3339(at: Optional[datetime]) -> Optional[str]:
    if at is None:
        return None
    return at.astimezone(timezone.utc).isoformat().replace("+00:00", "Z")
