"""brig as a sandbox of inspect_ai: sandbox="brig", or sandbox=("brig", "python").

Each sample has a session of brig. BRIG_URL and BRIG_API_KEY say where the service is. The
configuration is the name of a language or, as BrigConfig, more; each sandbox of a sample has one user
(so exec takes no other user), the files of the image, read-only, and /box and /tmp.
"""

from __future__ import annotations

import uuid
import warnings
from typing import Any, Dict, List, Optional, Union

import inspect_ai.util as _util
from inspect_ai.util import ExecResult, OutputLimitExceededError, SandboxEnvironment, SandboxEnvironmentLimits, sandboxenv
from pydantic import BaseModel

from .._async_sandbox import AsyncCodeSandbox
from .._async_session import AsyncSession
from .._errors import InfraError, RequestError, SandboxError
from .._limits import ResourceLimits
from .._sandbox import CodeSandbox
from . import _async_shell, _shell

# Older versions of inspect_ai have no error of their own for a provider that fails.
_Unavailable = getattr(_util, "SandboxUnavailableError", RuntimeError)

_PROJECT = "inspect_ai"
_USERS = ("sandboxuser", "1000")


class BrigConfig(BaseModel):
    """The sandbox of a sample.

    language, image: as of CodeSandbox.create_session; a string instead of a BrigConfig is the language
    url:             of the service; empty: BRIG_URL
    memory:          of everything in the sandbox together, such as "1g"
    cpus:            processors of everything in the sandbox together
    processes:       and threads, all together
    exec_seconds:    limit of an exec that has no timeout
    idle_seconds:    the sandbox ends after this time without a request
    life_seconds:    and this long after the sample began, in any case
    read_only:       False: the program may write anywhere, into a layer that is discarded
    env:             environment variables of every exec
    """

    language: str = "python"
    image: str = ""
    url: str = ""
    memory: str = "512m"
    cpus: float = 1
    processes: int = 100
    exec_seconds: float = 30
    idle_seconds: float = 3600
    life_seconds: float = 3600
    read_only: bool = True
    env: Dict[str, str] = {}


@sandboxenv(name="brig")
class BrigSandboxEnvironment(SandboxEnvironment):
    """A session of brig as the sandbox of a sample."""

    def __init__(self, box: AsyncCodeSandbox, session: AsyncSession, config: BrigConfig) -> None:
        super().__init__()
        self.session = session
        self._box = box
        self._config = config

    @classmethod
    async def sample_init(cls, task_name: str, config: Any, metadata: Dict[str, str]) -> Dict[str, SandboxEnvironment]:
        """One session for the sample. It waits while the service has no room for one."""
        chosen = _config(config)
        box = AsyncCodeSandbox(url=chosen.url or None, project=_PROJECT)
        try:
            session = await box.create_session(
                chosen.language or None,
                image=chosen.image or None,
                task=f"{task_name[:60]} {uuid.uuid4().hex[:12]}",  # a project and task can have one session
                limits=_limits(chosen),
                env_vars=chosen.env,
                read_only=chosen.read_only,
                idle_seconds=chosen.idle_seconds,
                life_seconds=chosen.life_seconds,
            )
        except SandboxError as e:
            box.close()
            raise _Unavailable(f"no sandbox: {e}") from e
        return {"default": cls(box, session, chosen)}

    @classmethod
    async def sample_cleanup(cls, task_name: str, config: Any, environments: Dict[str, SandboxEnvironment], interrupted: bool) -> None:
        """Ends the sessions of the sample."""
        for environment in environments.values():
            mine = environment.as_type(cls)
            try:
                await mine.session.delete()
            except SandboxError as e:
                warnings.warn(f"session {mine.session.id} could not be ended, and ends by itself when it is idle: {e}", RuntimeWarning, stacklevel=2)
            finally:
                mine._box.close()

    @classmethod
    async def cli_cleanup(cls, id: Optional[str]) -> None:
        """Ends the session with this id, or all that inspect_ai began with this key."""
        with CodeSandbox() as box:
            for session in box.list_sessions():
                if session.id == id or id is None and (session.raw.get("labels") or {}).get("project") == _PROJECT:
                    session.delete()

    @classmethod
    def config_deserialize(cls, config: Dict[str, Any]) -> BaseModel:
        return BrigConfig(**config)

    async def exec(
        self,
        cmd: List[str],
        input: Union[str, bytes, None] = None,
        cwd: Optional[str] = None,
        env: Optional[Dict[str, str]] = None,
        user: Optional[str] = None,
        timeout: Optional[int] = None,
        timeout_retry: bool = True,
        concurrency: bool = True,
    ) -> ExecResult[str]:
        """Executes a command. A command that was too late is not executed again: it may have had effects."""
        if user is not None and user not in _USERS:
            return ExecResult(False, 126, "", f"cannot run as {user}: a sandbox of brig has one user, {_USERS[0]}\n")
        try:
            result = await _async_shell.run(self.session, cmd, stdin=input or "", directory=cwd, env=env, seconds=timeout or self._config.exec_seconds)
        except InfraError as e:
            raise _Unavailable(str(e)) from e
        except RequestError as e:
            code = _shell.not_started(e)
            if code == 126:
                raise PermissionError(f"{cmd[0]}: {e.message}") from e
            if code is not None:
                return ExecResult(False, code, "", e.message + "\n")
            raise _failed(e) from e

        if result.timeout:
            raise TimeoutError(f"{cmd[0]}: {result.error_message}")
        if result.exit_code == 126 and "ermission denied" in result.stderr:
            raise PermissionError(result.stderr.strip())
        most = SandboxEnvironmentLimits.MAX_EXEC_OUTPUT_SIZE
        if result.verdict == "output-limit" or len(result.stdout_bytes) > most or len(result.stderr_bytes) > most:
            raise OutputLimitExceededError(SandboxEnvironmentLimits.MAX_EXEC_OUTPUT_SIZE_STR, (result.stdout or result.stderr)[:most])
        return ExecResult(result.success, result.exit_code, result.stdout, _shell.outcome(result))

    async def write_file(self, file: str, contents: Union[str, bytes]) -> None:
        """Writes a file, and makes its directories."""
        try:
            await _async_shell.write(self.session, file, contents)
        except InfraError as e:
            raise _Unavailable(str(e)) from e
        except RequestError as e:
            raise _failed(e) from e

    async def read_file(self, file: str, text: bool = True) -> Any:
        """The content of a file, as str or as bytes."""
        try:
            content = await _async_shell.read(self.session, file, SandboxEnvironmentLimits.MAX_READ_FILE_SIZE)
        except _shell.TooLarge as e:
            raise OutputLimitExceededError(SandboxEnvironmentLimits.MAX_READ_FILE_SIZE_STR, None) from e
        except InfraError as e:
            raise _Unavailable(str(e)) from e
        except RequestError as e:
            raise _failed(e) from e
        return content.decode("utf-8") if text else content


def _config(config: Any) -> BrigConfig:
    if config is None:
        return BrigConfig()
    if isinstance(config, str):
        return BrigConfig(language=config)
    if isinstance(config, BrigConfig):
        return config
    raise TypeError(f"the configuration is {config!r:.80}: write the name of a language, or BrigConfig(...)")


def _limits(config: BrigConfig) -> ResourceLimits:
    return ResourceLimits(memory_limit=config.memory, cpu_quota=int(config.cpus * 100000), pids_limit=config.processes)


def _failed(e: RequestError) -> Exception:
    """The error for a request that the service refused: a session that has ended is unavailable, all else is the caller's."""
    if e.status in (404, 410):
        return _Unavailable(str(e))
    return ValueError(str(e))
