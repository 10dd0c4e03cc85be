"""brig as a runtime of verifiers: agent.run(task, runtime=BrigRuntime(BrigConfig())), which borrows a box that is started."""

from __future__ import annotations

import asyncio
import uuid
from typing import Any, ClassVar, Dict, List, Literal, Optional

from pydantic_config import BaseConfig
from verifiers.v1.errors import SandboxError as VerifiersError
from verifiers.v1.runtimes.base import BaseRuntimeInfo, ProgramResult, Runtime, RuntimeProcess, register

from .._async_process import AsyncProcess
from .._async_sandbox import AsyncCodeSandbox
from .._async_session import AsyncSession
from .._errors import RequestError, SandboxError
from .._limits import ResourceLimits
from .._sandbox import CodeSandbox
from . import _async_command, _async_shell, _shell

_FILE = 256 << 20


class BrigConfig(BaseConfig):
    """The sandbox: a session of brig, without a network. So it grades, and hosts no agent that calls a model.

    url:       of the service; empty: BRIG_URL
    image:     empty: that of the language
    own_image: programs see themselves as root and write anywhere; the key must have that right
    memory:    in GB
    """

    type: Literal["brig"] = "brig"
    url: str = ""
    image: str = ""
    language: str = "python"
    own_image: bool = False
    workdir: str = "/box"
    cpu: float = 1.0
    memory: float = 2.0
    processes: int = 200
    life_seconds: float = 3600


class BrigRuntimeInfo(BrigConfig, BaseRuntimeInfo):
    pass


class BrigRuntime(Runtime):
    """A session of brig. A failure of brig is a SandboxError of verifiers, and never the result of a program."""

    is_local: ClassVar[bool] = False

    def __init__(self, config: Optional[BrigConfig] = None, name: Optional[str] = None) -> None:
        super().__init__(name)
        self.config = config or BrigConfig()
        self.info = BrigRuntimeInfo(**self.config.model_dump())
        self._box: Optional[AsyncCodeSandbox] = None
        self._session: Optional[AsyncSession] = None

    async def start(self) -> None:
        """Makes the session. It waits while the service has no room for one."""
        config = self.config
        self._box = AsyncCodeSandbox(url=config.url or None, project="verifiers")
        try:
            self._session = await self._box.create_session(
                None if config.image else config.language,
                image=config.image or None,
                task=uuid.uuid4().hex,  # a project and task can have one session
                limits=ResourceLimits(memory_limit=f"{int(config.memory * 1024)}m", cpu_quota=int(config.cpu * 100000), pids_limit=config.processes),
                read_only=False,
                own_image=config.own_image,
                idle_seconds=config.life_seconds,
                life_seconds=config.life_seconds,
            )
            register(self)
            self.info.id = self._session.id
            made = await _async_command.run(self._session, ["mkdir", "-p", "--", config.workdir], directory="/")
        except SandboxError as e:
            raise VerifiersError(f"no sandbox: {e}") from e
        if made.exit_code != 0:
            raise VerifiersError(f"workdir {config.workdir}: {made.stderr.strip()}")

    def _live(self) -> AsyncSession:
        if self._session is None:
            raise VerifiersError("the runtime has not been started")
        return self._session

    async def teardown(self) -> None:
        """Ends the session."""
        session, box = self._session, self._box
        try:
            if session is not None:
                await session.delete()
                self._session = None  # not before: cleanup would not find it
        except SandboxError as e:
            raise VerifiersError(f"session {session.id if session else ''} was not ended, and ends by itself: {e}") from e
        finally:
            if box is not None:
                box.close()

    def cleanup(self) -> None:
        """Ends the session without an event loop."""
        session, self._session = self._session, None
        if session is not None:
            with CodeSandbox(url=self.config.url or None) as box:
                box.get_session(session.id).delete()

    async def run(self, argv: List[str], env: Dict[str, str]) -> ProgramResult:
        """Executes a program. If the call is canceled, the program is killed with all that it has started in its group."""
        try:
            ended = await _async_command.run(self._live(), list(argv), directory=self.config.workdir, env=self.process_env(env))
        except SandboxError as e:
            raise VerifiersError(str(e)) from e
        return ProgramResult(exit_code=ended.exit_code, stdout=ended.stdout, stderr=ended.stderr)

    async def open_process(self, argv: List[str], env: Dict[str, str]) -> RuntimeProcess:
        """Starts a program whose stdin stays open."""
        try:
            words = _shell.change_directory(list(argv), self.config.workdir)
            return _Process(await self._live().process(words, stdin_open=True, env_vars=self.process_env(env)))
        except SandboxError as e:
            raise VerifiersError(str(e)) from e

    async def run_background(self, argv: List[str], env: Dict[str, str], log: str) -> None:
        """Starts a program that writes to a file."""
        words = ["sh", "-c", 'log=$1; shift; exec "$@" >"$log" 2>&1', "sh", log, *argv]
        try:
            await self._live().process(_shell.change_directory(words, self.config.workdir), env_vars=self.process_env(env))
        except SandboxError as e:
            raise VerifiersError(str(e)) from e

    async def _read(self, path: str) -> bytes:
        try:
            return await _async_shell.read(self._live(), self._at(path), _FILE)
        except (SandboxError, OSError, _shell.TooLarge) as e:
            raise VerifiersError(f"read {path!r}: {e}") from e

    async def write(self, path: str, data: bytes) -> None:
        """Writes a file, and makes its directories."""
        try:
            await _async_shell.write(self._live(), self._at(path), data)
        except (SandboxError, OSError) as e:
            raise VerifiersError(f"write {path!r}: {e}") from e

    def _at(self, path: str) -> str:
        return path if path.startswith("/") else f"{self.config.workdir.rstrip('/')}/{path}"


class _Process(RuntimeProcess):
    """A process of the session, whose output a task reads."""

    def __init__(self, process: AsyncProcess) -> None:
        self._process = process
        self.stdout: Any = _async_command.Stream()
        self.stderr: Any = _async_command.Stream()
        self._reads = asyncio.ensure_future(self._read())  # ends with the process

    async def _read(self) -> None:
        why: Optional[Exception] = None
        try:
            async for piece in self._process.attach():
                (self.stderr if piece.stream == "stderr" else self.stdout).put(piece.data)
        except SandboxError as e:
            why = VerifiersError(str(e))
        finally:
            self.stdout.end(why)
            self.stderr.end(why)

    async def write(self, data: bytes) -> None:
        try:
            await self._process.send(data)
        except SandboxError as e:
            raise VerifiersError(str(e)) from e

    async def wait(self) -> int:
        try:
            return (await self._process.wait()).exit_code
        except SandboxError as e:
            raise VerifiersError(str(e)) from e

    async def terminate(self) -> None:
        await self._signal("SIGTERM")

    async def kill(self) -> None:
        await self._signal("SIGKILL")

    async def _signal(self, name: str) -> None:
        try:
            await self._process.signal(name)
        except RequestError as e:
            if e.status not in (404, 409, 410):  # it has ended
                raise VerifiersError(str(e)) from e
        except SandboxError as e:
            raise VerifiersError(str(e)) from e
