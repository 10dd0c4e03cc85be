"""Long-lived sandboxes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence
from urllib.parse import quote

from ._errors import InfraError, RequestError, SandboxError, reading
from ._http import Transport
from ._limits import parse_size, span
from ._result import Content, ExecutionResult, encode, figure, seconds

SESSIONS = "/v1/sessions"


@dataclass(frozen=True)
class Volume:
    """The volume that a session mounts at /workspace: files of its project that outlive it.

    size:      of a new volume, such as "64m"; it never changes. None: 256 MiB, or the existing size
    read_only: mount read-only, also while another session writes; creates no volume
    shared:    write together with other sessions that also set shared; otherwise only one can write
    """

    size: Optional[str] = None
    read_only: bool = False
    shared: bool = False

    def to_api(self) -> Dict[str, Any]:
        """The volume in the service's format."""
        asked: Dict[str, Any] = {}
        if self.size is not None:
            asked["size"] = parse_size(self.size)
        if self.read_only:
            asked["read_only"] = True
        if self.shared:
            asked["shared"] = True
        return asked


@dataclass(frozen=True)
class SessionUsage:
    """The resource usage of a session, including processes that execs left running. None: unknown on that host."""

    memory_bytes: Optional[int] = None  # now
    memory_peak_bytes: Optional[int] = None
    cpu_seconds: Optional[float] = None  # since the session was created
    processes: Optional[int] = None  # now, with threads
    scratch_bytes: int = 0  # of /box, /tmp and /dev/shm, now
    inodes: int = 0

    @classmethod
    @reading()
    def of(cls, said: Mapping[str, Any]) -> SessionUsage:
        usage = said.get("usage") or {}
        cpu = figure(usage, "cpu_ns")
        return cls(
            memory_bytes=figure(usage, "memory_bytes"),
            memory_peak_bytes=figure(usage, "memory_peak_bytes"),
            cpu_seconds=None if cpu is None else seconds(cpu),
            processes=figure(usage, "processes"),
            scratch_bytes=int(usage.get("scratch_bytes") or 0),
            inodes=int(usage.get("inodes") or 0),
        )


@dataclass(frozen=True)
class FileInfo:
    """One directory entry. kind is file, directory, symlink or other; only files can be read."""

    name: str
    kind: str
    size: int
    executable: bool = False


@dataclass(frozen=True)
class FileList:
    """The content of a directory."""

    files: List[FileInfo]
    more: bool = False  # there are more entries than a list can have
    skipped: List[str] = field(default_factory=list)  # names that could not be listed

    def __iter__(self) -> Iterator[FileInfo]:
        return iter(self.files)

    def __len__(self) -> int:
        return len(self.files)


class Session:
    """A sandbox in which files and processes last. CodeSandbox.create_session makes one.

    It ends with the with statement, with delete(), or by itself after some time without
    requests; later requests get a RequestError with the code session-ended. Safe for use
    by many threads.
    """

    def __init__(self, http: Transport, said: Any) -> None:
        if not isinstance(said, dict) or not isinstance(said.get("session_id"), str) or not said["session_id"]:
            raise InfraError("the answer has no session: is this a brig service?", code="bad-answer")
        self._http = http
        self.raw: Dict[str, Any] = said  # the service's complete answer when the session was created
        self.id: str = said["session_id"]
        self.language: str = str(said.get("language") or "")

    def execute(
        self,
        code: str,
        args: Sequence[str] = (),
        *,
        stdin: Content = "",
        env_vars: Optional[Mapping[str, str]] = None,
        timeout_seconds: Optional[float] = None,
        memory_limit: Optional[str] = None,
        timeline_seconds: Optional[float] = None,
    ) -> ExecutionResult:
        """Runs code in the session's language, if it has one, and returns the result.

        Processes that it leaves running stay; if a limit stops it, all of its processes are
        stopped. timeout_seconds and memory_limit bound this program; None: the session's
        limits. memory_limit must not exceed the session's. timeline_seconds is as in
        CodeSandbox.execute.
        """
        body: Dict[str, Any] = {"source": encode(code)}
        if args:
            body["argv"] = list(args)
        return self._exec(body, stdin, env_vars, timeout_seconds, memory_limit, timeline_seconds)

    def run(
        self,
        command: Sequence[str],
        *,
        stdin: Content = "",
        env_vars: Optional[Mapping[str, str]] = None,
        timeout_seconds: Optional[float] = None,
        memory_limit: Optional[str] = None,
        timeline_seconds: Optional[float] = None,
    ) -> ExecutionResult:
        """Runs a command in the sandbox: the program and its arguments, without a shell."""
        if isinstance(command, str):
            raise TypeError("command must be a list of strings: use ['sh', '-c', ...] to run a shell command line")
        return self._exec({"argv": list(command)}, stdin, env_vars, timeout_seconds, memory_limit, timeline_seconds)

    def _exec(
        self,
        body: Dict[str, Any],
        stdin: Content,
        env_vars: Optional[Mapping[str, str]],
        timeout: Optional[float],
        memory: Optional[str],
        timeline: Optional[float],
    ) -> ExecutionResult:
        if stdin:
            body["stdin"] = encode(stdin)
        if env_vars:
            body["env"] = dict(env_vars)
        limits: Dict[str, Any] = {}
        if timeout is not None:
            limits["wall"] = span(timeout)
        if memory is not None:
            limits["memory"] = parse_size(memory)
        if limits:
            body["limits"] = limits
        if timeline is not None:
            body["timeline"] = {"every": span(timeline)}
        return ExecutionResult.of(self._http.call("POST", self._path() + "/exec", body, stays=True), self.language)

    def put_file(self, name: str, content: Content, *, executable: bool = False, volume: bool = False) -> None:
        """Writes a file in /box, or in /workspace, and replaces an existing one. It creates missing directories."""
        data = content.encode("utf-8", "surrogateescape") if isinstance(content, str) else content
        self._http.transfer("PUT", self._file(name), data, {"executable": executable and "true", "volume": volume and "true"})

    def get_file(self, name: str, *, volume: bool = False) -> bytes:
        """The content of a file in /box, or in /workspace."""
        return self._http.transfer("GET", self._file(name), query={"volume": volume and "true"})

    def list_files(self, directory: str = "", *, volume: bool = False) -> FileList:
        """The content of a directory in /box, or in /workspace, at any depth."""
        said = self._http.call("GET", self._path() + "/files", query={"dir": directory, "volume": volume and "true"})
        if not isinstance(said, dict) or not isinstance(said.get("files"), list):
            raise InfraError("the answer has no list of files: is this a brig service?", code="bad-answer")
        with reading():
            return FileList(
                files=[FileInfo(str(f["name"]), str(f.get("kind") or ""), int(f.get("size") or 0), f.get("executable") is True) for f in said["files"]],
                more=said.get("more") is True,
                skipped=[str(s.get("name")) for s in said.get("skipped") or ()],
            )

    def delete_file(self, name: str, *, volume: bool = False) -> None:
        """Removes a file, a link or an empty directory."""
        self._http.call("DELETE", self._file(name), query={"volume": volume and "true"})

    def usage(self) -> SessionUsage:
        """The current resource usage. This request does not keep the session alive."""
        return SessionUsage.of(self._http.call("GET", self._path()) or {})

    def delete(self) -> None:
        """Ends the session and removes everything in it except its volume. It is no error if the session has already ended."""
        try:
            self._http.call("DELETE", self._path())
        except RequestError as e:
            if e.status not in (404, 410):
                raise

    def __enter__(self) -> Session:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        try:
            self.delete()
        except SandboxError:
            if kind is None:  # else the exception from the with block is more useful; the session ends when it is idle
                raise

    def __repr__(self) -> str:
        return f"<Session {self.id}>"

    def _path(self) -> str:
        return SESSIONS + "/" + quote(self.id, safe="")

    def _file(self, name: str) -> str:
        if any(part in ("", ".", "..") for part in name.split("/")):
            raise RequestError(f"file name {name!r}: write a path below the directory, without empty parts, . and ..", code="bad-file")
        return self._path() + "/files/" + quote(name.encode("utf-8", "surrogateescape"), safe="/")
