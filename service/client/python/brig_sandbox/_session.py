"""Long-lived sandboxes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple
from urllib.parse import quote

from ._checks import check
from ._errors import InfraError, RequestError, SandboxError, reading
from ._http import Transport
from ._kernel import Kernel, kernel_body
from ._limits import parse_size, span
from ._process import Process, process_body
from ._result import Content, ExecutionResult, encode, figure, seconds
from ._runs import exec_body
from ._snapshots import PathChange, Snapshot, changes_of, snapshot_body, take_body

SESSIONS = "/v1/sessions"


@dataclass(frozen=True)
class Volume:
    """The volume that a session mounts at /workspace: files of its project that outlive it.

    size:      of a new volume, such as "64m"; it never changes. None: 256 MiB, or the existing size
    read_only: mount read-only, also while another session writes; creates no volume
    shared:    write together with other sessions that also set shared; otherwise only one can write
    temporary: a volume of the client's run alone, next to the one that lasts; end_run removes it
    """

    size: Optional[str] = None
    read_only: bool = False
    shared: bool = False
    temporary: bool = False

    def to_api(self) -> Dict[str, Any]:
        """The volume in the service's format."""
        check(size=self.size, read_only=self.read_only, shared=self.shared, temporary=self.temporary)
        asked: Dict[str, Any] = {}
        if self.size is not None:
            asked["size"] = parse_size(self.size)
        if self.read_only:
            asked["read_only"] = True
        if self.shared:
            asked["shared"] = True
        if self.temporary:
            asked["temporary"] = True
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


class SessionState:
    """What the synchronous and the asynchronous session have in common: their requests and answers."""

    def __init__(self, said: Any) -> None:
        if not isinstance(said, dict) or not isinstance(said.get("session_id"), str) or not said["session_id"]:
            raise InfraError("the answer has no session: is this a brig service?", code="bad-answer")
        self.raw: Dict[str, Any] = said  # the service's complete answer when the session was created
        self.id: str = said["session_id"]
        self.language: str = str(said.get("language") or "")

    def _path(self) -> str:
        return SESSIONS + "/" + quote(self.id, safe="")

    def _kernel(self, kernel_id: str) -> str:
        check(kernel_id=kernel_id)
        return self._path() + "/kernels/" + quote(kernel_id, safe="")

    def _process(self, pid: int) -> str:
        check(pid=pid)
        return f"{self._path()}/processes/{pid}"

    def _file(self, name: str) -> str:
        check(name=name)
        if any(part in ("", ".", "..") for part in name.split("/")):
            raise RequestError(f"file name {name!r}: write a path below the directory, without empty parts, . and ..", code="bad-file")
        return self._path() + "/files/" + quote(name.encode("utf-8", "surrogateescape"), safe="/")

    def _at(self, name: str, volume: bool, part: str) -> Tuple[str, Dict[str, Any]]:
        """The address and the query of a file: below /box or /workspace, or, if the name begins with a slash, by its absolute path."""
        check(name=name, volume=volume)
        if not name.startswith("/"):
            return self._file(name), {"volume": volume and "true"}
        if volume:
            raise RequestError(f"file name {name!r}: volume=True is for names below /workspace: leave it out for an absolute path", code="bad-file")
        return self._path() + "/fs" + part, {"path": name.encode("utf-8", "surrogateescape")}

    def _listing(self, directory: str, volume: bool) -> Tuple[str, Dict[str, Any]]:
        check(directory=directory, volume=volume)
        if directory.startswith("/"):
            return self._at(directory, volume, "/list")
        return self._path() + "/files", {"dir": directory, "volume": volume and "true"}

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.id}>"


def source_body(code: Content, args: Sequence[str], stdin: Content, env_vars: Optional[Mapping[str, str]], timeout: Optional[float], memory: Optional[str], timeline: Optional[float]) -> Dict[str, Any]:
    """The request of an exec of code."""
    check(code=code, args=args)
    body: Dict[str, Any] = {"source": encode(code)}
    if args:
        body["argv"] = list(args)
    return exec_body(body, stdin, env_vars, _exec_limits(timeout, memory), timeline)


def command_body(command: Sequence[str], stdin: Content, env_vars: Optional[Mapping[str, str]], timeout: Optional[float], memory: Optional[str], timeline: Optional[float]) -> Dict[str, Any]:
    """The request of an exec of a command."""
    check(command=command)
    return exec_body({"argv": list(command)}, stdin, env_vars, _exec_limits(timeout, memory), timeline)


def _exec_limits(timeout: Optional[float], memory: Optional[str]) -> Dict[str, Any]:
    check(timeout_seconds=timeout, memory_limit=memory)
    limits: Dict[str, Any] = {}
    if timeout is not None:
        limits["wall"] = span(timeout)
    if memory is not None:
        limits["memory"] = parse_size(memory)
    return limits


def content_bytes(content: Content) -> bytes:
    """The bytes of a file to write."""
    check(content=content)
    return content.encode("utf-8", "surrogateescape") if isinstance(content, str) else bytes(content)


def put_query(query: Dict[str, Any], executable: bool) -> Dict[str, Any]:
    """The query of a file to write."""
    check(executable=executable)
    if "path" in query:
        return {**query, "mode": executable and "0755"}
    return {**query, "executable": executable and "true"}


def file_list(said: Any) -> FileList:
    """A directory in the service's answer."""
    if isinstance(said, dict) and isinstance(said.get("entries"), list):
        with reading():
            return FileList(
                files=[
                    FileInfo(str(f["path"]), str(f.get("kind") or ""), int(f.get("size") or 0), f.get("kind") == "file" and int(f.get("mode") or 0) & 0o100 != 0) for f in said["entries"]
                ],
                more=bool(said.get("next")),
                skipped=[str(s.get("name")) for s in said.get("skipped") or ()],
            )
    if not isinstance(said, dict) or not isinstance(said.get("files"), list):
        raise InfraError("the answer has no list of files: is this a brig service?", code="bad-answer")
    with reading():
        return FileList(
            files=[FileInfo(str(f["name"]), str(f.get("kind") or ""), int(f.get("size") or 0), f.get("executable") is True) for f in said["files"]],
            more=said.get("more") is True,
            skipped=[str(s.get("name")) for s in said.get("skipped") or ()],
        )


def items(said: Any) -> List[Any]:
    """The entries of a page in the service's answer."""
    if not isinstance(said, dict) or not isinstance(said.get("items"), list):
        raise InfraError("the answer has no list: is this a brig service?", code="bad-answer")
    return list(said["items"])


class Session(SessionState):
    """A sandbox in which files and processes last. CodeSandbox.create_session makes one.

    It ends with the with statement, with delete(), or by itself after some time without
    requests; later requests get a RequestError with the code session-ended. Safe for use
    by many threads.
    """

    def __init__(self, http: Transport, said: Any) -> None:
        super().__init__(said)
        self._http = http

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
        return self._exec(source_body(code, args, stdin, env_vars, timeout_seconds, memory_limit, timeline_seconds))

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
        return self._exec(command_body(command, stdin, env_vars, timeout_seconds, memory_limit, timeline_seconds))

    def _exec(self, body: Dict[str, Any]) -> ExecutionResult:
        return ExecutionResult.of(self._http.call("POST", self._path() + "/exec", body, stays=True), self.language)

    def kernel(self, language: str = "python", *, directory: Optional[str] = None, env_vars: Optional[Mapping[str, str]] = None) -> Kernel:
        """Starts an interpreter that keeps its variables from one cell to the next: python, javascript or bash.

        It must be in the session's image. directory is where it starts; None: /box.
        """
        body = kernel_body(language, directory, env_vars)
        return Kernel(self._http, self._path(), self._http.call("POST", self._path() + "/kernels", body, stays=True))

    def get_kernel(self, kernel_id: str) -> Kernel:
        """An existing kernel of the session."""
        return Kernel(self._http, self._path(), self._http.call("GET", self._kernel(kernel_id)))

    def list_kernels(self) -> List[Kernel]:
        """The kernels of the session."""
        return [Kernel(self._http, self._path(), one) for one in items(self._http.call("GET", self._path() + "/kernels"))]

    def process(
        self,
        command: Sequence[str],
        *,
        stdin_open: bool = False,
        tty: Optional[Tuple[int, int]] = None,
        env_vars: Optional[Mapping[str, str]] = None,
        timeout_seconds: Optional[float] = None,
        memory_limit: Optional[str] = None,
        tag: str = "",
    ) -> Process:
        """Starts a program that stays: it outlives this client, until it ends or the session does.

        stdin_open: what Process.send sends is its stdin; otherwise that is empty. tty: rows and
        columns of a terminal, which is its stdin, stdout and stderr. timeout_seconds: None: as
        long as the session lives.
        """
        body = process_body(command, stdin_open, tty, env_vars, timeout_seconds, memory_limit, tag)
        return Process(self._http, self._path(), self._http.call("POST", self._path() + "/processes", body, stays=True))

    def get_process(self, pid: int) -> Process:
        """An existing process of the session, by its number."""
        return Process(self._http, self._path(), self._http.call("GET", self._process(pid)))

    def list_processes(self) -> List[Process]:
        """The processes of the session, with those that have ended within an hour."""
        return [Process(self._http, self._path(), one) for one in items(self._http.call("GET", self._path() + "/processes"))]

    def put_file(self, name: str, content: Content, *, executable: bool = False, volume: bool = False) -> None:
        """Writes a file in /box, or in /workspace, and replaces an existing one. It creates missing directories.

        A name that begins with a slash is an absolute path in the sandbox, such as /tmp/x: here,
        and in get_file, list_files and delete_file. What the session's programs have no right
        to do there is a RequestError with the code file-denied.
        """
        path, query = self._at(name, volume, "/content")
        self._http.transfer("PUT", path, content_bytes(content), put_query(query, executable))

    def get_file(self, name: str, *, volume: bool = False) -> bytes:
        """The content of a file in /box, or in /workspace, or at an absolute path."""
        path, query = self._at(name, volume, "/content")
        return self._http.transfer("GET", path, query=query)

    def list_files(self, directory: str = "", *, volume: bool = False) -> FileList:
        """The content of a directory in /box, or in /workspace, at any depth; at an absolute path its own entries, with absolute names."""
        path, query = self._listing(directory, volume)
        return file_list(self._http.call("GET", path, query=query))

    def delete_file(self, name: str, *, volume: bool = False) -> None:
        """Removes a file, a link or an empty directory."""
        path, query = self._at(name, volume, "")
        self._http.call("DELETE", path, query=query)

    def put_tar(self, directory: str, packed: bytes) -> None:
        """Unpacks a tar, which is not compressed, into a directory at an absolute path that exists."""
        check(directory=directory, packed=packed)
        self._http.transfer("PUT", self._path() + "/fs/tar", packed, {"path": directory})

    def get_tar(self, directory: str) -> bytes:
        """A directory at an absolute path as a tar. It has the words of the session's programs: unpack it with care."""
        check(directory=directory)
        return self._http.transfer("GET", self._path() + "/fs/tar", query={"path": directory})

    def snapshot(self, name: str = "", *, paths: Sequence[str] = (), life_seconds: Optional[float] = None) -> Snapshot:
        """Copies the files below /box and /tmp, or the given absolute paths there, for new sessions to begin with.

        All processes of the session stand still meanwhile. name finds it as well as its id. It is
        removed after life_seconds (a week), or with CodeSandbox.delete_snapshot.
        """
        return Snapshot.of(self._http.call("POST", self._path() + "/snapshots", snapshot_body(name, paths, life_seconds)))

    def diff(self, snapshot: str = "") -> List[PathChange]:
        """How the files differ from a snapshot, by id or name. Without one: from that with which the session began, or else all files."""
        check(snapshot=snapshot)
        return changes_of(self._http.transfer("GET", self._path() + "/diff", query={"since": snapshot or None}))

    def take(self, session_id: str, paths: Sequence[str]) -> int:
        """Copies regular files and directories of another session to the same absolute paths; returns their number.

        A symbolic link and all else that is neither is a RequestError with the code file-conflict.
        """
        said = self._http.call("POST", self._path() + "/take", take_body(session_id, paths))
        with reading():
            return int(said["files"])

    def usage(self) -> SessionUsage:
        """The current resource usage. This request does not keep the session alive."""
        return SessionUsage.of(self._http.call("GET", self._path()) or {})

    def delete(self) -> None:
        """Ends the session and removes everything in it except its volume. It is no error if the session has already ended."""
        try:
            self.end()
        except RequestError as e:
            if e.status not in (404, 410):
                raise

    def end(self) -> None:
        """As delete, but a RequestError if the session has already ended."""
        self._http.call("DELETE", self._path())

    def __enter__(self) -> Session:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        try:
            self.delete()
        except SandboxError:
            if kind is None:  # else the exception from the with block is more useful; the session ends when it is idle
                raise
