"""brig as an environment of Harbor: harbor run --environment-import-path brig_sandbox.adapters.harbor:BrigEnvironment."""

from __future__ import annotations

import asyncio
import os
import uuid
from pathlib import Path
from typing import Any, Dict, Optional, Union

import harbor.environments.base as _base
import harbor.environments.capabilities as _capabilities
from harbor.environments.base import BaseEnvironment, ExecResult

from .._async_sandbox import AsyncCodeSandbox
from .._async_session import AsyncSession
from .._errors import RequestError
from .._limits import ResourceLimits
from . import _async_command, _async_shell, _tree

_FILE = 256 << 20


class BrigEnvironment(BaseEnvironment):
    """A session of brig with the image of the task, in which programs see themselves as root.

    Arguments of --ek:

    url:          of the service; else BRIG_URL; the key is BRIG_API_KEY
    image:        instead of docker_image of the task
    own_image:    false: programs are an ordinary user, who may write anywhere all the same
    offline:      true: run a task that asks for the public network without any network
    life_seconds: the session ends this long after its start, in any case
    processes:    and threads, all together
    """

    def __init__(
        self,
        *args: Any,
        url: str = "",
        image: str = "",
        own_image: Any = True,
        offline: Any = False,
        life_seconds: float = 6 * 3600,
        processes: int = 500,
        **kwargs: Any,
    ) -> None:
        self._url, self._image = url, image
        self._own, self._offline = _flag("own_image", own_image), _flag("offline", offline)
        self._life, self._processes = float(life_seconds), int(processes)
        self._box: Optional[AsyncCodeSandbox] = None
        self._session: Optional[AsyncSession] = None
        super().__init__(*args, **kwargs)

    @staticmethod
    def type() -> str:
        return "brig"

    @property
    def capabilities(self) -> Any:
        return _capabilities.EnvironmentCapabilities(disable_internet=True)

    @classmethod
    def resource_capabilities(cls) -> Any:
        """Limits of processors and memory are kept; None: this Harbor does not ask."""
        kind = getattr(_capabilities, "EnvironmentResourceCapabilities", None)
        return None if kind is None else kind(cpu_limit=True, memory_limit=True)

    @classmethod
    def preflight(cls) -> None:
        if not os.environ.get("BRIG_URL"):
            raise SystemExit("BRIG_URL is not set: set it to the address of a brig service, such as http://127.0.0.1:8080")

    def _validate_definition(self) -> None:
        if not self._wanted():
            raise FileNotFoundError(
                f"the task {self.environment_name} has no docker_image, and brig builds no Dockerfile: build it (docker build), import it "
                "(docker save | brig rootfs import), and name it in task.toml or with --ek image=NAME"
            )
        if not self._offline and self._is_public():
            raise ValueError(
                f"the task {self.environment_name} asks for the public network, and a sandbox of brig has none: set its network_mode to "
                "no-network, or run it without a network all the same with --ek offline=true"
            )

    def _is_public(self) -> bool:
        policy = getattr(self, "_network_policy", None)
        if policy is None:  # an older Harbor
            return bool(getattr(self.task_env_config, "allow_internet", True))
        mode = policy.network_mode
        return str(getattr(mode, "value", mode)) == "public"

    def _wanted(self) -> str:
        return self._image or self.task_env_config.docker_image or ""

    async def start(self, force_build: bool) -> None:
        """Makes the session. It waits while the service has no room for one. Nothing is built."""
        task = self.task_env_config
        box = AsyncCodeSandbox(url=self._url or None, project="harbor")
        try:
            session = await box.create_session(
                image=self._wanted(),
                task=uuid.uuid4().hex,  # a project and task can have one session
                limits=ResourceLimits(memory_limit=f"{task.memory_mb or 2048}m", cpu_quota=int((task.cpus or 1) * 100000), pids_limit=self._processes),
                read_only=False,
                own_image=self._own,
                idle_seconds=self._life,
                life_seconds=self._life,
            )
        except RequestError as e:
            box.close()
            failed = getattr(_base, "SandboxBuildFailedError", RuntimeError)  # not tried again
            raise failed(f"no sandbox with the image {self._wanted()}: {e}") from e
        except BaseException:
            box.close()
            raise
        self._box, self._session = box, session
        if self._directory():
            await self._make_directory(str(self._directory()))
        upload = getattr(self, "_upload_environment_dir_after_start", None)
        if upload is not None:
            await upload()

    def _directory(self) -> Optional[str]:
        return getattr(self.task_env_config, "workdir", None) or None

    async def _make_directory(self, path: str) -> None:
        made = await _async_command.run(self._live(), ["mkdir", "-p", "--", path], directory="/")
        if made.exit_code != 0:
            raise OSError(f"{path}: {made.stderr.strip()}")

    def _live(self) -> AsyncSession:
        if self._session is None:
            raise RuntimeError("the environment has not been started: await start()")
        return self._session

    async def stop(self, delete: bool) -> None:
        """Ends the session. With delete=False it stays until its life is over."""
        session, box = self._session, self._box
        self._session = self._box = None
        try:
            if session is not None and delete:
                await session.delete()
            elif session is not None:
                self.logger.info("session %s stays: brig session rm ends it", session.id)
        finally:
            if box is not None:
                box.close()

    async def exec(
        self,
        command: str,
        cwd: Optional[str] = None,
        env: Optional[Dict[str, str]] = None,
        timeout_sec: Optional[int] = None,
        user: Union[str, int, None] = None,
    ) -> ExecResult:
        """Executes a line with bash, or with sh if there is none. A failure of brig is raised, and never a return code."""
        user = self._resolve_user(user)
        if not _async_command.is_the_user(user):
            return ExecResult(stdout="", stderr=_async_command.other_user(user) + "\n", return_code=126)
        session = self._live()
        words = await _async_command.line(session, command)
        ended = await _async_command.run(session, words, directory=cwd or self._directory(), env=self._merge_env(env), seconds=timeout_sec or None)
        if ended.late:
            raise RuntimeError(f"the command was killed after {timeout_sec} s: {command:.200}")
        return ExecResult(stdout=ended.stdout, stderr=ended.stderr, return_code=ended.exit_code)

    async def upload_file(self, source_path: Union[str, Path], target_path: str) -> None:
        content = await asyncio.to_thread(Path(source_path).read_bytes)
        await _async_shell.write(self._live(), target_path, content)

    async def upload_dir(self, source_dir: Union[str, Path], target_dir: str) -> None:
        packed = await asyncio.to_thread(_tree.pack, source_dir)
        await self._make_directory(target_dir)
        await self._live().put_tar(target_dir, packed)

    async def download_file(self, source_path: str, target_path: Union[str, Path]) -> None:
        content = await _async_shell.read(self._live(), source_path, _FILE)
        Path(target_path).parent.mkdir(parents=True, exist_ok=True)
        await asyncio.to_thread(Path(target_path).write_bytes, content)

    async def download_dir(self, source_dir: str, target_dir: Union[str, Path]) -> None:
        """Copies files and directories; links are left out."""
        packed = await self._live().get_tar(source_dir)
        await asyncio.to_thread(_tree.unpack, packed, target_dir)


def _flag(name: str, value: Any) -> bool:
    """A flag, which may be text on the command line."""
    known = {"true": True, "1": True, "false": False, "0": False, "": False}
    text = str(value).lower()
    if text not in known:
        raise ValueError(f"{name}={value}: write true or false")
    return known[text]
