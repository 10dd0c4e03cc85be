"""Kernels: interpreters of a session that keep their variables."""

from __future__ import annotations

import base64
import binascii
import json
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any, Awaitable, Callable, Dict, List, Mapping, Optional, Union
from urllib.parse import quote

from ._checks import check
from ._errors import InfraError, RequestError, SandboxError, reading
from ._events import events
from ._http import Transport
from ._limits import span
from ._request import Request, json_request
from ._result import Content

KEPT = 16 << 20  # characters of stdout, and of stderr, that a result has

Show = Callable[[str], object]
Tools = Mapping[str, Callable[..., Any]]


@dataclass(frozen=True)
class Display:
    """A value in its forms, by MIME type: text is str, and what application/json has is any value. Pictures are base64."""

    forms: Dict[str, Any]
    metadata: Dict[str, Any] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """The plain form; empty: there is none."""
        form = self.forms.get("text/plain")
        return form if isinstance(form, str) else ""

    def content(self, mime: str) -> Optional[bytes]:
        """The bytes of a form such as image/png; None: there is none. Raises ValueError for a form that is damaged."""
        form = self.forms.get(mime)
        if form is None:
            return None
        if not isinstance(form, str):
            return json.dumps(form).encode()
        if mime.startswith("text/") or mime.endswith(("+xml", "/json", "/javascript")):
            return form.encode("utf-8", "surrogateescape")
        try:
            return base64.b64decode("".join(form.split()), validate=True)
        except binascii.Error as e:
            raise ValueError(f"the form {mime!r:.80} is no base64") from e

    @property
    def png(self) -> Optional[bytes]:
        """The picture, such as one of matplotlib; None: there is none."""
        return self.content("image/png")


@dataclass(frozen=True)
class CellError:
    """The error that ended a cell, in the words of its program."""

    name: str
    value: str
    traceback: List[str]

    def __str__(self) -> str:
        return f"{self.name}: {self.value}"


@dataclass(frozen=True)
class CellResult:
    """What a cell did, in the words of its program: nothing of it is evidence.

    status:    ok, error, interrupted, timeout or died: the interpreter has ended
    count:     the number of the cell
    result:    the value of its last expression; None: it has none
    displays:  values that it showed, in their order
    fresh:     it was the first of an interpreter that replaced one that had ended
    restarted: its interpreter has ended, and the variables are lost
    cut:       stdout or stderr had more than 16 Mi characters, and lacks the rest
    """

    status: str
    count: int
    stdout: str
    stderr: str
    result: Optional[Display]
    displays: List[Display]
    error: Optional[CellError]
    fresh: bool = False
    restarted: bool = False
    cut: bool = False

    @property
    def success(self) -> bool:
        return self.status == "ok"


class _Text:
    """What a stream wrote, as much as a result has."""

    def __init__(self, show: Optional[Show]) -> None:
        self._pieces: List[str] = []
        self._left = KEPT
        self.cut = False
        self._show = show

    def add(self, text: str) -> None:
        if self._show is not None:
            self._show(text)
        self.cut = self.cut or len(text) > self._left
        self._pieces.append(text[: self._left])
        self._left -= len(self._pieces[-1])

    def __str__(self) -> str:
        return "".join(self._pieces)


class Gathering:
    """Makes a result of the events of a cell."""

    def __init__(self, on_stdout: Optional[Show], on_stderr: Optional[Show], on_display: Optional[Callable[[Display], object]]) -> None:
        self.stdout, self.stderr = _Text(on_stdout), _Text(on_stderr)
        self._on_display = on_display
        self._displays: List[Display] = []
        self._result: Optional[Display] = None
        self._error: Optional[CellError] = None
        self._start: Dict[str, Any] = {}

    def take(self, said: Dict[str, Any]) -> Optional[CellResult]:
        """Takes an event. The last one makes the result."""
        kind = said.get("type")
        with reading():
            if kind == "start":
                self._start = said
            elif kind in ("stdout", "stderr"):
                text = str(said["text"])
            elif kind in ("display", "result"):
                shown = Display(dict(said.get("data") or {}), dict(said.get("metadata") or {}))
            elif kind == "error":
                self._error = CellError(str(said.get("name") or ""), str(said.get("value") or ""), [str(line) for line in said.get("traceback") or ()])
            elif kind == "end":
                return CellResult(
                    status=str(said["status"]),
                    count=int(self._start.get("count") or 0),
                    stdout=str(self.stdout),
                    stderr=str(self.stderr),
                    result=self._result,
                    displays=self._displays,
                    error=self._error,
                    fresh=self._start.get("restarted") is True,
                    restarted=said.get("restarted") is True,
                    cut=self.stdout.cut or self.stderr.cut,
                )
        # Functions of the caller: what they raise is the caller's.
        if kind == "stdout":
            self.stdout.add(text)
        elif kind == "stderr":
            self.stderr.add(text)
        elif kind == "result":
            self._result = shown
        elif kind == "display":
            self._displays.append(shown)
            if self._on_display is not None:
                self._on_display(shown)
        return None


def called(said: Dict[str, Any], tools: Optional[Tools]) -> Callable[[], Any]:
    """What the event ask calls: a function without arguments, whose error is that of the call."""
    name, args, named = said.get("name"), said.get("args"), said.get("named")

    def call() -> Any:
        if not isinstance(name, str) or tools is None or name not in tools:
            raise LookupError(f"there is no tool {name!r:.80}: there are {sorted(tools or ())!r:.400}")
        return tools[name](*(args if isinstance(args, list) else []), **(named if isinstance(named, dict) else {}))

    return call


def answer(said: Dict[str, Any], value: Any) -> Dict[str, Any]:
    """The answer that a call returns."""
    try:
        json.dumps(value)
    except (TypeError, ValueError, RecursionError) as e:
        return refusal(said, TypeError(f"the tool returned what is no JSON: {e}"))
    return {"id": said.get("id"), "value": value}


def refusal(said: Dict[str, Any], e: Exception) -> Dict[str, Any]:
    """The answer of a call that failed."""
    return {"id": said.get("id"), "error": f"{type(e).__name__}: {e}"[:100_000]}


def lost(e: SandboxError) -> bool:
    """Whether an answer came too late: the cell has ended meanwhile."""
    return isinstance(e, RequestError) and e.status == 404


def kernel_body(language: str, directory: Optional[str], env_vars: Optional[Mapping[str, str]]) -> Dict[str, Any]:
    """The request of a kernel."""
    check(language=language, directory=directory, env_vars=env_vars)
    body: Dict[str, Any] = {"language": language}
    if directory:
        body["cwd"] = directory
    if env_vars:
        body["env"] = dict(env_vars)
    return body


class KernelState:
    """What the synchronous and the asynchronous kernel have in common."""

    def __init__(self, session: str, said: Any) -> None:
        if not isinstance(said, dict) or not isinstance(said.get("id"), str) or not said["id"]:
            raise InfraError("the answer has no kernel: is this a brig service?", code="bad-answer")
        self.raw: Dict[str, Any] = said  # the service's complete answer
        self.id: str = said["id"]
        self.language: str = str(said.get("language") or "")
        self._path = session + "/kernels/" + quote(self.id, safe="")

    def _cell(self, code: Content, env_vars: Optional[Mapping[str, str]], timeout: Optional[float], silent: bool, on: Mapping[str, Any]) -> Request:
        check(code=code, env_vars=env_vars, timeout_seconds=timeout, silent=silent, **on)
        body: Dict[str, Any] = {"code": code if isinstance(code, str) else bytes(code).decode("utf-8")}
        if env_vars:
            body["env"] = dict(env_vars)
        if timeout is not None:
            body["timeout"] = span(timeout)
        if silent:
            body["silent"] = True
        return json_request("POST", self._path + "/execute", body, stays=True)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.id}>"


class Kernel(KernelState):
    """An interpreter that keeps its variables from one cell to the next. Session.kernel makes one.

    It ends with the with statement, with delete(), or with its session. Safe for use by many
    threads: one cell is executed at a time, and others wait in order.
    """

    def __init__(self, http: Transport, session: str, said: Any) -> None:
        super().__init__(session, said)
        self._http = http

    def execute(
        self,
        code: str,
        *,
        on_stdout: Optional[Show] = None,
        on_stderr: Optional[Show] = None,
        on_display: Optional[Callable[[Display], object]] = None,
        tools: Optional[Tools] = None,
        env_vars: Optional[Mapping[str, str]] = None,
        timeout_seconds: Optional[float] = None,
        silent: bool = False,
    ) -> CellResult:
        """Executes a cell and returns what it did, whether it succeeded or not.

        The functions get text and values as they come. tools are what the cell can call with
        ask(NAME, ...): functions by name, whose results are JSON. timeout_seconds interrupts the
        cell; None: it may take as long as its session lives. A call that is left, such as by
        Ctrl-C, interrupts the cell too. silent: it has no result and is not counted.
        """
        request = self._cell(code, env_vars, timeout_seconds, silent, {"on_stdout": on_stdout, "on_stderr": on_stderr, "on_display": on_display, "tools": tools})
        state = Gathering(on_stdout, on_stderr, on_display)
        with closing(events(self._http, request)) as coming:
            for said in coming:
                if said.get("type") == "ask":
                    self._answer(said, tools)
                result = state.take(said)
                if result is not None:
                    return result
        raise broken_off()

    def _answer(self, said: Dict[str, Any], tools: Optional[Tools]) -> None:
        try:
            body = answer(said, called(said, tools)())
        except Exception as e:  # the error of a tool is the cell's
            body = refusal(said, e)
        try:
            self._http.call("POST", self._path + "/answer", body)
        except RequestError as e:
            if not lost(e):
                raise

    def interrupt(self) -> None:
        """Ends the cell that is executed: its variables stay. Without one, nothing happens."""
        self._http.call("POST", self._path + "/interrupt")

    def restart(self) -> None:
        """Gives the kernel a fresh interpreter, without variables."""
        self._http.call("POST", self._path + "/restart", stays=True)

    def status(self) -> str:
        """starting, idle, busy or dead: the next cell starts an interpreter."""
        return state_of(self._http.call("GET", self._path))

    def delete(self) -> None:
        """Ends the kernel. It is no error if it has already ended."""
        try:
            self._http.call("DELETE", self._path)
        except RequestError as e:
            if e.status not in (404, 410):
                raise

    def __enter__(self) -> Kernel:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        try:
            self.delete()
        except SandboxError:
            if kind is None:  # else the exception from the with block is more useful
                raise


def broken_off() -> InfraError:
    """The error of events that end before the last one."""
    return InfraError("the events of the cell broke off: it was interrupted", code="gateway-gone")


def state_of(said: Any) -> str:
    with reading():
        return str(said["state"])


AsyncTools = Mapping[str, Callable[..., Union[Any, Awaitable[Any]]]]
