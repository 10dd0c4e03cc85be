"""brig as a CodeInterpreter of DSPy: dspy.RLM(..., interpreter_factory=lambda: BrigInterpreter())."""

from __future__ import annotations

import json
import keyword
from typing import Any, Callable, Dict, List, Mapping, Optional

from dspy.primitives.code_interpreter import CodeExecutionError, CodeInterpreterError, FinalOutput

from .._errors import SandboxError
from .._sandbox import CodeSandbox
from .._session import Session
from ._interpreter import Cell, Interpreter

_SUBMITTED = "_BrigSubmitted"

# Defines SUBMIT, which ends a cell with the values of the output fields.
_SUBMIT = """
class {error}(BaseException):
    pass
def SUBMIT({fields}):
    import json
    raise {error}(json.dumps({{{values}}}))
"""


class BrigInterpreter:
    """A session with Python, in which variables last from one execute to the next.

    tools are called in this process. Values come and go as JSON. A failure of brig, or the end of
    the interpreter, is a CodeInterpreterError, never the output of the code.
    """

    execution_instructions = "Python of a Linux sandbox without a network. Write files to /box or /tmp."

    def __init__(
        self,
        tools: Optional[Mapping[str, Callable[..., Any]]] = None,
        output_fields: Optional[List[Dict[str, Any]]] = None,
        *,
        box: Optional[CodeSandbox] = None,
        cell_seconds: float = 20,
        **session: Any,
    ) -> None:
        """box: None: a client of its own. session has arguments of create_session."""
        self.tools: Dict[str, Callable[..., Any]] = dict(tools or {})
        self.output_fields = output_fields
        self._box = box or CodeSandbox()
        self._seconds = cell_seconds
        self._arguments = session
        self._session: Optional[Session] = None
        self._interpreter: Optional[Interpreter] = None
        self._ended = ""
        self._defined: object = None  # the tools and fields that the interpreter knows

    def start(self) -> None:
        """Makes the session. execute does it, too."""
        if self._ended:
            raise CodeInterpreterError(f"the interpreter has ended: {self._ended}: make another")
        if self._interpreter is None:
            try:
                self._session = self._box.create_session("python", **self._arguments)
                self._interpreter = Interpreter(self._session, self._seconds)
            except SandboxError as e:
                self._end(str(e))
                raise CodeInterpreterError(str(e)) from e

    def execute(self, code: str, variables: Optional[Dict[str, Any]] = None) -> Any:
        """Executes code: FinalOutput after SUBMIT, else what it printed, else its last value, else None."""
        self.start()
        for name in variables or {}:
            if not name.isidentifier() or keyword.iskeyword(name):
                raise CodeInterpreterError(f"{name!r} is no name of a variable")
        try:
            cell = self._cell(code, variables or {})
        except SandboxError as e:
            self._end(str(e))
            raise CodeInterpreterError(str(e)) from e
        except (TypeError, ValueError) as e:
            raise CodeInterpreterError(f"a variable is no value of JSON: {e}") from e
        if cell.died or cell.fresh:
            why = "the code took too long and could not be interrupted" if cell.late else "the code ended the interpreter"
            self._end(why)
            raise CodeInterpreterError(f"{why}: its variables are gone")
        if cell.late:
            raise CodeExecutionError(f"TimeoutError: the code took more than {self._seconds:g} s")
        if cell.error == _SUBMITTED:
            return FinalOutput(json.loads(cell.text))
        if cell.error == "SyntaxError":
            raise SyntaxError(f"Invalid Python syntax. message: {cell.text}")
        if cell.error:
            raise CodeExecutionError(f"{cell.error}: {cell.text}")
        return cell.out or cell.value

    def _cell(self, code: str, variables: Mapping[str, Any]) -> Cell:
        assert self._interpreter is not None
        known = (sorted(self.tools), self.output_fields)
        if known != self._defined:
            self._interpreter.set_tools(self.tools)
            self._interpreter.execute(_submit(self.output_fields))
            self._defined = known
        if variables:
            self._interpreter.set_variables(variables)
        return self._interpreter.execute(code, self.tools)

    def shutdown(self) -> None:
        """Ends the session."""
        self._end("it was shut down")

    def _end(self, why: str) -> None:
        self._ended = self._ended or why
        session, self._session, self._interpreter = self._session, None, None
        if session is not None:
            try:
                session.delete()
            except SandboxError:
                pass  # it ends by itself when it is idle

    def __enter__(self) -> BrigInterpreter:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.shutdown()

    def __call__(self, code: str, variables: Optional[Dict[str, Any]] = None) -> Any:
        return self.execute(code, variables)


def _submit(fields: Optional[List[Dict[str, Any]]]) -> str:
    names = [str(field["name"]) for field in fields or []] or ["output"]
    return _SUBMIT.format(error=_SUBMITTED, fields=", ".join(names), values=", ".join(f"{name!r}: {name}" for name in names))
