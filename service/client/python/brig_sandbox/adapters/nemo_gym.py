"""brig as a sandbox provider of NeMo Gym: the entry point brig of nemo_gym.sandbox_providers, or {"brig": {...}} in a configuration."""

from __future__ import annotations

import asyncio
import uuid
from pathlib import Path
from typing import Any, Dict, Optional, Union

from nemo_gym.sandbox.providers.base import SandboxCreateError, SandboxExecResult, SandboxHandle, SandboxSpec, SandboxStatus

from .._async_sandbox import AsyncCodeSandbox
from .._async_session import AsyncSession
from .._errors import InfraError, RequestError, SandboxError
from .._limits import ResourceLimits
from . import _async_command, _async_shell

# The return code with an error_type, when there is none of a process.
_FAILED = 125

_FILE = 256 << 20

_OPTIONS = ("language", "own_image", "read_only", "processes")


class BrigProvider:
    """Sandboxes are sessions of brig, without a network and with one user, whom images call root.

    url:        of the service; empty: BRIG_URL
    language:   of sandboxes without an image
    own_image:  programs see themselves as root and write anywhere; the key must have that right
    read_only:  without own_image, False lets them write anywhere
    life_s:     how long a sandbox lasts whose spec has no ttl_s
    memory_mib, cpu: of a spec that has none
    processes:  and threads, all together
    """

    name = "brig"

    def __init__(
        self,
        *,
        url: str = "",
        language: str = "python",
        own_image: bool = False,
        read_only: bool = False,
        life_s: float = 3600,
        memory_mib: int = 1024,
        cpu: float = 1,
        processes: int = 200,
    ) -> None:
        self._box = AsyncCodeSandbox(url=url or None, project="nemo_gym")
        self._options: Dict[str, Any] = {"language": language, "own_image": own_image, "read_only": read_only, "processes": processes}
        self._life, self._memory, self._cpu = life_s, memory_mib, cpu

    async def create(self, spec: SandboxSpec) -> SandboxHandle:
        """A new session. It waits while the service has no room for one, at most ready_timeout_s."""
        options = {**self._options, **spec.provider_options}
        unknown = sorted(set(options) - set(_OPTIONS))
        if unknown:
            raise SandboxCreateError(f"provider_options has {unknown}: brig knows {list(_OPTIONS)}")
        refused = _refused(spec)
        if refused:
            raise SandboxCreateError(refused)
        try:
            session = await asyncio.wait_for(self._session(spec, options), spec.ready_timeout_s)
        except asyncio.TimeoutError as e:
            raise SandboxCreateError(f"no sandbox within {spec.ready_timeout_s} s: the service has no room for one more") from e
        except (SandboxError, ValueError, TypeError) as e:
            raise SandboxCreateError(f"no sandbox: {e}") from e
        handle = SandboxHandle(sandbox_id=session.id, provider_name=self.name, raw=_Raw(session, spec.workdir))
        if spec.workdir:
            made = await self.exec(handle, 'mkdir -p -- "$DIR"', cwd="/", env={"DIR": spec.workdir})
            if made.return_code != 0:
                await self.close(handle)
                raise SandboxCreateError(f"workdir {spec.workdir}: {made.stderr}")
        return handle

    async def _session(self, spec: SandboxSpec, options: Dict[str, Any]) -> AsyncSession:
        asked = spec.resources
        life = float(spec.ttl_s or self._life)
        return await self._box.create_session(
            None if spec.image else options["language"],
            image=spec.image or None,
            task=uuid.uuid4().hex,  # a project and task can have one session
            limits=ResourceLimits(memory_limit=f"{asked.memory_mib or self._memory}m", cpu_quota=int((asked.cpu or self._cpu) * 100000), pids_limit=options["processes"]),
            env_vars=spec.env,
            read_only=options["read_only"],
            own_image=options["own_image"],
            idle_seconds=life,
            life_seconds=life,
        )

    async def exec(
        self,
        handle: SandboxHandle,
        command: str,
        *,
        cwd: Optional[str] = None,
        env: Optional[Dict[str, str]] = None,
        timeout_s: Union[int, float, None] = None,
        user: Union[str, int, None] = None,
    ) -> SandboxExecResult:
        """Executes a line of the shell. A failure of brig has an error_type, and is never a return code of the command."""
        if not _async_command.is_the_user(user):
            return SandboxExecResult(None, _async_command.other_user(user), _FAILED, "sandbox")
        raw = handle.raw
        try:
            words = await _async_command.line(raw.session, command)
            ended = await _async_command.run(raw.session, words, directory=cwd or raw.directory, env=env, seconds=timeout_s)
        except SandboxError as e:
            return SandboxExecResult(None, str(e), _FAILED, "sandbox")
        if ended.late:
            return SandboxExecResult(ended.stdout, ended.stderr, _FAILED, "timeout")
        return SandboxExecResult(ended.stdout, ended.stderr, ended.exit_code)

    async def upload_file(self, handle: SandboxHandle, source_path: Path, target_path: str) -> None:
        """Copies a file into the sandbox, and makes its directories."""
        content = await asyncio.to_thread(Path(source_path).read_bytes)
        await _async_shell.write(handle.raw.session, target_path, content)

    async def download_file(self, handle: SandboxHandle, source_path: str, target_path: Path) -> None:
        """Copies a file of the sandbox, of at most 256 MiB."""
        content = await _async_shell.read(handle.raw.session, source_path, _FILE)
        Path(target_path).parent.mkdir(parents=True, exist_ok=True)
        await asyncio.to_thread(Path(target_path).write_bytes, content)

    async def status(self, handle: SandboxHandle) -> SandboxStatus:
        """Whether the session lives."""
        try:
            await handle.raw.session.usage()
        except RequestError as e:
            return SandboxStatus.STOPPED if e.status in (404, 410) else SandboxStatus.ERROR
        except InfraError:
            return SandboxStatus.UNKNOWN
        return SandboxStatus.RUNNING

    async def close(self, handle: SandboxHandle) -> None:
        """Ends the session. It is no error if it has ended."""
        await handle.raw.session.delete()

    async def serialize_handle(self, handle: SandboxHandle, *, scope: Optional[str] = None) -> Dict[str, Any]:
        """What connect makes a handle of, in another process with the same key."""
        return {"sandbox_id": handle.sandbox_id, "workdir": handle.raw.directory}

    async def connect(self, descriptor: Any) -> SandboxHandle:
        """The handle of a sandbox that another process has created."""
        session = await self._box.get_session(str(descriptor["sandbox_id"]))
        return SandboxHandle(sandbox_id=session.id, provider_name=self.name, raw=_Raw(session, descriptor.get("workdir")))

    async def aclose(self) -> None:
        """Closes the connections. Sessions stay."""
        self._box.close()


class _Raw:
    """What a handle has."""

    def __init__(self, session: AsyncSession, directory: Optional[str]) -> None:
        self.session = session
        self.directory = directory


def _refused(spec: SandboxSpec) -> str:
    """Why no sandbox of brig can be what a spec asks for; empty: one can."""
    if spec.resources.gpu:
        return "a sandbox of brig has no GPU: choose another provider for this spec"
    if spec.ports:
        return "a sandbox of brig has no network, and so no ports: choose another provider for this spec"
    if spec.entrypoint:
        return "a sandbox of brig starts no entrypoint: start it with exec"
    return ""
