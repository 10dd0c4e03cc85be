"""Processes that stay in a session."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple

from ._checks import check
from ._errors import InfraError, RequestError, SandboxError, reading
from ._http import Transport
from ._limits import parse_size, span

from ._result import Content, ExecutionResult, decode

_LONGEST_WAIT = 30.0  # of one request for output; the service allows a minute


@dataclass(frozen=True)
class ProcessPiece:
    """Something that a process wrote. offset: how many bytes it had written before, to both streams together."""

    stream: str  # stdout or stderr; at a terminal all is stdout
    data: bytes
    offset: int

    @property
    def text(self) -> str:
        return self.data.decode("utf-8", "replace")


@dataclass(frozen=True)
class ProcessOutput:
    """What a process wrote since an offset, as much as one answer has: read on at next.

    gap:   bytes since the offset that the service does not keep any more
    ended: the process has ended, and nothing follows
    """

    pieces: List[ProcessPiece]
    next: int
    gap: int = 0
    ended: bool = False

    @classmethod
    @reading()
    def of(cls, said: Any) -> ProcessOutput:
        offset, pieces = int(said["offset"]), []
        for one in said.get("pieces") or ():
            pieces.append(ProcessPiece(str(one["stream"]), decode(one["data"]), offset))
            offset += len(pieces[-1].data)
        return cls(pieces, int(said["next"]), int(said.get("gap") or 0), said.get("ended") is True)


def process_body(
    command: Sequence[str],
    stdin_open: bool,
    tty: Optional[Tuple[int, int]],
    env_vars: Optional[Mapping[str, str]],
    timeout: Optional[float],
    memory: Optional[str],
    tag: str,
) -> Dict[str, Any]:
    """The request of a process, which outlives every connection."""
    check(command=command, stdin_open=stdin_open, tty=tty, env_vars=env_vars, timeout_seconds=timeout, memory_limit=memory, tag=tag)
    body: Dict[str, Any] = {"argv": list(command), "detach": True}
    if stdin_open or tty is not None:
        body["stdin"] = "open"
    if tty is not None:
        body["tty"] = {"rows": tty[0], "cols": tty[1]}
    if env_vars:
        body["env"] = dict(env_vars)
    limits: Dict[str, Any] = {}
    if timeout is not None:
        limits["wall"] = span(timeout)
    if memory is not None:
        limits["memory"] = parse_size(memory)
    if limits:
        body["limits"] = limits
    if tag:
        body["tag"] = tag
    return body


class ProcessState:
    """What the synchronous and the asynchronous process have in common."""

    def __init__(self, session: str, said: Any) -> None:
        with reading():
            self.raw: Dict[str, Any] = dict(said)  # the service's complete answer
            self.pid = int(said["pid"])  # its number among the processes of the session
            self.tag = str(said.get("tag") or "")
        self._path = f"{session}/processes/{self.pid}"

    def _stdin(self, content: Content, eof: bool) -> Tuple[bytes, Dict[str, Any]]:
        check(content=content, eof=eof)
        data = content.encode("utf-8", "surrogateescape") if isinstance(content, str) else bytes(content)
        return data, {"eof": eof and "true"}

    def _output(self, since: int, wait: float) -> Dict[str, Any]:
        check(since=since, wait_seconds=wait)
        return {"since": since, "wait": wait and span(min(wait, 60.0))}

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.pid}>"


def signal_body(name: str) -> Dict[str, Any]:
    check(name=name)
    return {"signal": name}


def resize_body(rows: int, columns: int) -> Dict[str, Any]:
    check(rows=rows, columns=columns)
    return {"rows": rows, "cols": columns}


def ended(said: Any) -> Optional[ExecutionResult]:
    """How a process ended; None: it runs."""
    with reading():
        state, result, error = said["state"], said.get("result"), said.get("error")
    if state == "running":
        return None
    if isinstance(result, dict):
        return ExecutionResult.of(result, "")
    with reading():
        raise InfraError(f"the process has no result: {error['detail']}", code=str(error["code"]))


def waits_left(deadline: Optional[float]) -> float:
    """Seconds that the next request for output may wait; not positive: the time is over."""
    return _LONGEST_WAIT if deadline is None else min(_LONGEST_WAIT, deadline - time.monotonic())


def still_runs(pid: int, seconds: Optional[float]) -> InfraError:
    return InfraError(f"process {pid} still runs after {seconds:g} s: wait longer, or end it with kill()", code="deadline", retry_safe=True)


def gone(e: SandboxError) -> bool:
    """Whether a process that is to end has ended already."""
    return isinstance(e, RequestError) and e.status in (404, 409, 410)


class Process(ProcessState):
    """A program that stays in a session, such as a server or a REPL. Session.process starts one.

    It outlives the client. It ends with the with statement, with kill(), by itself or with its
    session. Safe for use by many threads.
    """

    def __init__(self, http: Transport, session: str, said: Any) -> None:
        super().__init__(session, said)
        self._http = http

    def send(self, content: Content = "", *, eof: bool = False) -> None:
        """Sends bytes to its stdin, and with eof the end of that. Returns when the program has taken them."""
        data, query = self._stdin(content, eof)
        self._http.transfer("POST", self._path + "/stdin", data, query)

    def signal(self, name: str) -> None:
        """Sends a signal such as SIGINT to its process group; at a terminal to the one in the foreground."""
        self._http.call("POST", self._path + "/signal", signal_body(name))

    def resize(self, rows: int, columns: int) -> None:
        """Changes the size of its terminal."""
        self._http.call("POST", self._path + "/resize", resize_body(rows, columns))

    def output(self, since: int = 0, *, wait_seconds: float = 0) -> ProcessOutput:
        """What it wrote since an offset. Waits for some, or for the end, at most so long and a minute."""
        return ProcessOutput.of(self._http.call("GET", self._path + "/output", query=self._output(since, wait_seconds)))

    def attach(self, since: int = 0) -> Iterator[ProcessPiece]:
        """What it wrote since an offset, and what follows as it comes, until it ends."""
        while True:
            got = self.output(since, wait_seconds=_LONGEST_WAIT)
            yield from got.pieces
            if got.ended:
                return
            since = got.next

    def poll(self) -> Optional[ExecutionResult]:
        """How it ended, without its output; None: it runs."""
        return ended(self._http.call("GET", self._path))

    def wait(self, timeout_seconds: Optional[float] = None) -> ExecutionResult:
        """How it ended, without its output. Raises InfraError (deadline) if it still runs after so many seconds."""
        check(timeout_seconds=timeout_seconds)
        deadline = None if timeout_seconds is None else time.monotonic() + timeout_seconds
        since = int(self._http.call("GET", self._path).get("output_offset") or 0)
        while (result := self.poll()) is None:
            left = waits_left(deadline)
            if left <= 0:
                raise still_runs(self.pid, timeout_seconds)
            since = self.output(since, wait_seconds=left).next
        return result

    def kill(self) -> None:
        """Ends it at once. It is no error if it has already ended."""
        try:
            self.signal("SIGKILL")
        except RequestError as e:
            if not gone(e):
                raise

    def __enter__(self) -> Process:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        try:
            self.kill()
        except SandboxError:
            if kind is None:  # else the exception from the with block is more useful
                raise
