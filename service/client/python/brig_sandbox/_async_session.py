"""Long-lived sandboxes of the asynchronous client."""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

from ._async_http import AsyncTransport
from ._async_kernel import AsyncKernel
from ._async_process import AsyncProcess
from ._checks import check
from ._errors import RequestError, SandboxError, reading
from ._kernel import kernel_body
from ._process import process_body
from ._result import Content, ExecutionResult
from ._session import FileList, SessionState, SessionUsage, command_body, content_bytes, file_list, items, put_query, source_body
from ._snapshots import PathChange, Snapshot, changes_of, snapshot_body, take_body


class AsyncSession(SessionState):
    """As Session, for asyncio. AsyncCodeSandbox.create_session makes one; async with ends it."""

    def __init__(self, http: AsyncTransport, said: Any) -> None:
        super().__init__(said)
        self._http = http

    async def execute(
        self,
        code: str,
        args: Sequence[str] = (),
        *,
        stdin: Content = "",
        env_vars: Optional[Mapping[str, str]] = None,
        timeout_seconds: Optional[float] = None,
        memory_limit: Optional[str] = None,
        timeline_seconds: Optional[float] = None,
    ) -> ExecutionResult:
        """As Session.execute."""
        return await self._exec(source_body(code, args, stdin, env_vars, timeout_seconds, memory_limit, timeline_seconds))

    async def run(
        self,
        command: Sequence[str],
        *,
        stdin: Content = "",
        env_vars: Optional[Mapping[str, str]] = None,
        timeout_seconds: Optional[float] = None,
        memory_limit: Optional[str] = None,
        timeline_seconds: Optional[float] = None,
    ) -> ExecutionResult:
        """As Session.run."""
        return await self._exec(command_body(command, stdin, env_vars, timeout_seconds, memory_limit, timeline_seconds))

    async def _exec(self, body: Dict[str, Any]) -> ExecutionResult:
        return ExecutionResult.of(await self._http.call("POST", self._path() + "/exec", body, stays=True), self.language)

    async def kernel(self, language: str = "python", *, directory: Optional[str] = None, env_vars: Optional[Mapping[str, str]] = None) -> AsyncKernel:
        """As Session.kernel."""
        body = kernel_body(language, directory, env_vars)
        return AsyncKernel(self._http, self._path(), await self._http.call("POST", self._path() + "/kernels", body, stays=True))

    async def get_kernel(self, kernel_id: str) -> AsyncKernel:
        """As Session.get_kernel."""
        return AsyncKernel(self._http, self._path(), await self._http.call("GET", self._kernel(kernel_id)))

    async def list_kernels(self) -> List[AsyncKernel]:
        """As Session.list_kernels."""
        return [AsyncKernel(self._http, self._path(), one) for one in items(await self._http.call("GET", self._path() + "/kernels"))]

    async def process(
        self,
        command: Sequence[str],
        *,
        stdin_open: bool = False,
        tty: Optional[Tuple[int, int]] = None,
        env_vars: Optional[Mapping[str, str]] = None,
        timeout_seconds: Optional[float] = None,
        memory_limit: Optional[str] = None,
        tag: str = "",
    ) -> AsyncProcess:
        """As Session.process."""
        body = process_body(command, stdin_open, tty, env_vars, timeout_seconds, memory_limit, tag)
        return AsyncProcess(self._http, self._path(), await self._http.call("POST", self._path() + "/processes", body, stays=True))

    async def get_process(self, pid: int) -> AsyncProcess:
        """As Session.get_process."""
        return AsyncProcess(self._http, self._path(), await self._http.call("GET", self._process(pid)))

    async def list_processes(self) -> List[AsyncProcess]:
        """As Session.list_processes."""
        return [AsyncProcess(self._http, self._path(), one) for one in items(await self._http.call("GET", self._path() + "/processes"))]

    async def put_file(self, name: str, content: Content, *, executable: bool = False, volume: bool = False) -> None:
        """As Session.put_file."""
        path, query = self._at(name, volume, "/content")
        await self._http.transfer("PUT", path, content_bytes(content), put_query(query, executable))

    async def get_file(self, name: str, *, volume: bool = False) -> bytes:
        """As Session.get_file."""
        path, query = self._at(name, volume, "/content")
        return await self._http.transfer("GET", path, query=query)

    async def list_files(self, directory: str = "", *, volume: bool = False) -> FileList:
        """As Session.list_files."""
        path, query = self._listing(directory, volume)
        return file_list(await self._http.call("GET", path, query=query))

    async def delete_file(self, name: str, *, volume: bool = False) -> None:
        """As Session.delete_file."""
        path, query = self._at(name, volume, "")
        await self._http.call("DELETE", path, query=query)

    async def put_tar(self, directory: str, packed: bytes) -> None:
        """As Session.put_tar."""
        check(directory=directory, packed=packed)
        await self._http.transfer("PUT", self._path() + "/fs/tar", packed, {"path": directory})

    async def get_tar(self, directory: str) -> bytes:
        """As Session.get_tar."""
        check(directory=directory)
        return await self._http.transfer("GET", self._path() + "/fs/tar", query={"path": directory})

    async def snapshot(self, name: str = "", *, paths: Sequence[str] = (), life_seconds: Optional[float] = None) -> Snapshot:
        """As Session.snapshot."""
        return Snapshot.of(await self._http.call("POST", self._path() + "/snapshots", snapshot_body(name, paths, life_seconds)))

    async def diff(self, snapshot: str = "") -> List[PathChange]:
        """As Session.diff."""
        check(snapshot=snapshot)
        return changes_of(await self._http.transfer("GET", self._path() + "/diff", query={"since": snapshot or None}))

    async def take(self, session_id: str, paths: Sequence[str]) -> int:
        """As Session.take."""
        said = await self._http.call("POST", self._path() + "/take", take_body(session_id, paths))
        with reading():
            return int(said["files"])

    async def usage(self) -> SessionUsage:
        """As Session.usage."""
        return SessionUsage.of(await self._http.call("GET", self._path()) or {})

    async def delete(self) -> None:
        """As Session.delete."""
        try:
            await self._http.call("DELETE", self._path())
        except RequestError as e:
            if e.status not in (404, 410):
                raise

    async def __aenter__(self) -> AsyncSession:
        return self

    async def __aexit__(self, kind: object, *_: object) -> None:
        try:
            await self.delete()
        except SandboxError:
            if kind is None:  # else the exception from the with block is more useful; the session ends when it is idle
                raise
