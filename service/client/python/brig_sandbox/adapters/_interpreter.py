"""A Python interpreter that stays in a session, from the outside."""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable, Dict, Iterable, Mapping, Optional

from .._errors import InfraError, reading
from .._session import Session
from . import _shell

# How long the supervisor in the sandbox takes beyond the time of a cell: to interrupt it, and to answer.
_BEYOND = 8.0

_ASK = 'cat >"$1/in" && cat "$1/out"'


@dataclass(frozen=True)
class Cell:
    """What came of a cell.

    out:   stdout and stderr as they were written, also of processes that it started
    value: the repr of its last line, if that is an expression; None: it has no value
    error: the name of its exception; empty: there was none
    text:  of the exception
    trace: of the exception
    late:  it was interrupted at its time limit
    died:  the interpreter ended, for example by os._exit, or at the memory limit
    fresh: the variables of earlier cells are gone
    """

    out: str = ""
    cut: bool = False
    value: Optional[str] = None
    error: str = ""
    text: str = ""
    trace: str = ""
    late: bool = False
    died: bool = False
    fresh: bool = False

    @classmethod
    @reading()
    def of(cls, said: Mapping[str, Any]) -> Cell:
        """The cell in an answer, which the program in the sandbox may have forged."""
        error = said.get("error") or {}
        value = said.get("value")
        return cls(
            out=base64.b64decode(said.get("out") or "", validate=True).decode("utf-8", "replace"),
            cut=said.get("cut") is True,
            value=None if value is None else str(value),
            error=str(error.get("name") or ""),
            text=str(error.get("text") or ""),
            trace=str(error.get("trace") or ""),
            late=said.get("late") is True,
            died=said.get("died") is True,
            fresh=said.get("fresh") is True,
        )


class Interpreter:
    """Executes cells one after the other; variables last. Not for several threads at a time.

    Each cell, and each call of a tool in it, is one exec of the session, whose other limits hold
    for the interpreter, too.
    """

    def __init__(self, session: Session, seconds: float = 20) -> None:
        """seconds: the time limit of a cell; with 8 more it must be within what the service allows for an exec"""
        self.session = session
        self._seconds = seconds
        self._directory = "/box/" + _shell.spare()
        program = Path(__file__).with_name("_interpreter_program.py").read_text()
        started = session.run(["python3", "-c", program, self._directory], timeout_seconds=seconds + _BEYOND)
        if not started.success:
            raise InfraError(f"the interpreter did not start: {started.error_message}: does the session have Python?", code="no-interpreter")

    def execute(self, code: str, tools: Optional[Mapping[str, Callable[..., Any]]] = None) -> Cell:
        """Executes a cell. A tool that it calls is called here, with the values of JSON."""
        said = self._ask({"cell": code, "seconds": self._seconds})
        while "call" in said:
            said = self._ask({**_called(tools or {}, said), "seconds": self._seconds})
        return Cell.of(said)

    def set_variables(self, variables: Mapping[str, Any]) -> None:
        """Sets variables to values of JSON."""
        self._ask({"variables": dict(variables)})

    def set_tools(self, names: Iterable[str]) -> None:
        """Defines functions that call the tools of execute."""
        self._ask({"tools": list(names)})

    def _ask(self, message: Dict[str, Any]) -> Dict[str, Any]:
        result = self.session.run(["sh", "-c", _ASK, "sh", self._directory], stdin=json.dumps(message), timeout_seconds=self._seconds + _BEYOND)
        try:
            said = json.loads(result.stdout)
        except ValueError as e:
            raise InfraError(f"the interpreter in session {self.session.id} does not answer: {result.error_message}", code="no-interpreter") from e
        if not isinstance(said, dict):
            raise InfraError(f"the interpreter in session {self.session.id} answers {said!r:.80}", code="no-interpreter")
        return said


def _called(tools: Mapping[str, Callable[..., Any]], said: Mapping[str, Any]) -> Dict[str, Any]:
    """The message with what a tool returned or raised."""
    name = str(said["call"])
    try:
        returned = tools[name](*said.get("args", ()), **said.get("kwargs", {}))
        json.dumps(returned)
    except Exception as e:  # it is the cell's, which called the tool
        return {"raised": f"{type(e).__name__}: {e}"}
    return {"returned": returned}
