"""brig as a Python executor of smolagents: CodeAgent(..., executor=BrigExecutor(logger=...))."""

from __future__ import annotations

import logging
from typing import Any, List, Optional, Sequence

from smolagents.local_python_executor import CodeOutput
from smolagents.remote_executors import RemotePythonExecutor
from smolagents.utils import AgentError

from .._errors import SandboxError
from .._sandbox import CodeSandbox
from .._session import Session
from ._interpreter import Interpreter


class _Log:
    """A logger of smolagents for who has none."""

    def log(self, *said: Any, **_: Any) -> None:
        logging.getLogger("brig_sandbox").info("%s", " ".join(map(str, said)))

    def log_error(self, said: Any) -> None:
        logging.getLogger("brig_sandbox").error("%s", said)


class BrigExecutor(RemotePythonExecutor):
    """A session with Python, in which variables last from one action to the next.

    A failure of brig is an InfraError, never the output of an action. A session has no network,
    so nothing is installed while it runs: an image with the packages is used instead, or
    requirements of create_session if the service offers packages.
    """

    def __init__(
        self,
        additional_imports: Sequence[str] = (),
        logger: Any = None,
        allow_pickle: bool = False,
        *,
        box: Optional[CodeSandbox] = None,
        action_seconds: float = 20,
        **session: Any,
    ) -> None:
        """additional_imports: packages that must be there. session has arguments of create_session."""
        super().__init__(list(additional_imports), logger or _Log(), allow_pickle)
        self._box = box or CodeSandbox()
        self._seconds = action_seconds
        self.session: Session = self._box.create_session("python", **session)
        try:
            self._interpreter = Interpreter(self.session, action_seconds)
            self.installed_packages = self.install_packages(list(additional_imports))
        except BaseException:
            self.cleanup()
            raise

    def install_packages(self, additional_imports: List[str]) -> List[str]:
        """Checks that packages are there. What is missing is an AgentError."""
        names = [name.partition("[")[0].partition("=")[0].strip("<>~! ") for name in additional_imports]
        cell = self._interpreter.execute(f"import importlib.metadata as _m, importlib.util as _u\n[n for n in {names!r} if not _u.find_spec(n.replace('-', '_')) and n not in {{d.metadata['Name'] for d in _m.distributions()}}]")
        if cell.error or cell.value != "[]":
            missing = cell.value or cell.text
            raise AgentError(f"the sandbox has no {missing}: use an image with them, or BrigExecutor(requirements=[...])", self.logger)
        return additional_imports

    def run_code_raise_errors(self, code: str) -> CodeOutput:
        """Executes an action. An AgentError has what it printed and its exception."""
        cell = self._interpreter.execute(code)
        if cell.died or cell.late:
            why = f"the action took more than {self._seconds:g} s" if cell.late else "the action ended the interpreter"
            raise AgentError(f"{cell.out}\n{why}{': all variables and tools are gone' if cell.fresh else ''}", self.logger)
        if cell.error == self.FINAL_ANSWER_EXCEPTION:
            return CodeOutput(output=self._deserialize_final_answer(cell.text, self.allow_pickle), logs=cell.out, is_final_answer=True)
        if cell.error:
            raise AgentError(f"{cell.out}\nExecuting code yielded an error:\n{cell.trace}", self.logger)
        return CodeOutput(output=cell.value, logs=cell.out, is_final_answer=False)

    def cleanup(self) -> None:
        """Ends the session."""
        try:
            self.session.delete()
        except SandboxError as e:
            self.logger.log_error(f"session {self.session.id} could not be ended, and ends by itself when it is idle: {e}")
