"""brig as a SandboxInterface of tinker-cookbook: sandbox = await BrigSandbox.create()."""

from __future__ import annotations

from typing import Any, Optional, Union

from tinker_cookbook.exceptions import SandboxError as TinkerError
from tinker_cookbook.sandbox.sandbox_interface import SandboxResult, SandboxTerminatedError

from .._async_sandbox import AsyncCodeSandbox
from .._async_session import AsyncSession
from .._errors import RequestError, SandboxError
from .._result import ExecutionResult
from . import _async_shell, _shell

_OUTPUT = 128 << 10  # bytes of each stream, if the caller says nothing
_FILE = 64 << 20


class BrigSandbox:
    """A session of brig. A failure of brig is raised, and never the result of a command.

    SandboxTerminatedError: the session has ended. tinker_cookbook.exceptions.SandboxError: brig
    failed, or refused the request.
    """

    def __init__(self, session: AsyncSession, box: Optional[AsyncCodeSandbox] = None) -> None:
        """box, if given, is closed with the sandbox."""
        self.session = session
        self._box = box

    @classmethod
    async def create(cls, language: Optional[str] = None, *, url: Optional[str] = None, timeout: float = 600, **session: Any) -> BrigSandbox:
        """A new session, which lasts at most timeout seconds. session has more arguments of create_session."""
        box = AsyncCodeSandbox(url=url)
        try:
            made = await box.create_session(language, life_seconds=timeout, idle_seconds=timeout, **session)
        except SandboxError as e:
            box.close()
            raise TinkerError(str(e)) from e
        return cls(made, box)

    @property
    def sandbox_id(self) -> str:
        return self.session.id

    async def send_heartbeat(self, timeout: int = 30) -> None:
        """Keeps the session from being idle."""
        try:
            await _async_shell.run(self.session, ["true"], seconds=timeout)
        except SandboxError as e:
            raise _raised(e) from e

    async def run_command(self, command: str, workdir: Optional[str] = None, timeout: int = 60, max_output_bytes: Optional[int] = None) -> SandboxResult:
        """Executes a command line of the shell. One that was too late has the exit code 124."""
        most = _OUTPUT if max_output_bytes is None else max_output_bytes
        try:
            words = ["sh", "-c", command]
            if _shell.is_long(words, None):
                name = _shell.spare()
                await self.session.put_file(name, _shell.script(name, command))
                words = ["sh", "/box/" + name]
            result = await _async_shell.run(self.session, words, directory=workdir, seconds=timeout)
        except SandboxError as e:
            raise _raised(e) from e
        return _result(result, most)

    async def read_file(self, path: str, max_bytes: Optional[int] = None, timeout: int = 60) -> SandboxResult:
        """The file as stdout, or the beginning of it. The exit code is 1 if it cannot be read, and stderr says why."""
        try:
            if max_bytes is not None:
                return _result(await _async_shell.run(self.session, ["head", "-c", str(max_bytes), "--", path], seconds=timeout), max_bytes)
            content = await _async_shell.read(self.session, path, _FILE)
        except SandboxError as e:
            raise _raised(e) from e
        except _shell.TooLarge:
            return SandboxResult(stdout="", stderr=f"{path} has more than {_FILE >> 20} MiB: read a part of it with max_bytes", exit_code=1)
        except OSError as e:
            return SandboxResult(stdout="", stderr=str(e), exit_code=1)
        return SandboxResult(stdout=content.decode("utf-8", "replace"), stderr="", exit_code=0)

    async def write_file(self, path: str, content: Union[str, bytes], executable: bool = False, timeout: int = 60) -> SandboxResult:
        """Writes a file, and makes its directories. The exit code is 1 if it cannot be written, and stderr says why."""
        try:
            await _async_shell.write(self.session, path, content)
            if executable:
                return _result(await _async_shell.run(self.session, ["chmod", "+x", "--", path], seconds=timeout), _OUTPUT)
        except SandboxError as e:
            raise _raised(e) from e
        except OSError as e:
            return SandboxResult(stdout="", stderr=str(e), exit_code=1)
        return SandboxResult(stdout="", stderr="", exit_code=0)

    async def cleanup(self) -> None:
        """Ends the session."""
        try:
            await self.session.delete()
        except SandboxError as e:
            raise _raised(e) from e
        finally:
            if self._box is not None:
                self._box.close()


def _result(result: ExecutionResult, most: int) -> SandboxResult:
    stdout = result.stdout_bytes[:most].decode("utf-8", "replace")
    return SandboxResult(stdout=stdout, stderr=_shell.outcome(result)[:most], exit_code=result.exit_code)


def _raised(e: SandboxError) -> Exception:
    """What tinker-cookbook has for an error of brig."""
    if isinstance(e, RequestError) and e.status in (404, 410):
        return SandboxTerminatedError(str(e))
    return TinkerError(str(e))
