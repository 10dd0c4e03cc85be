"""Processes of the asynchronous client."""

from __future__ import annotations

import time
from typing import Any, AsyncIterator, Optional

from ._async_http import AsyncTransport
from ._checks import check
from ._errors import RequestError, SandboxError
from ._process import _LONGEST_WAIT, ProcessOutput, ProcessPiece, ProcessState, ended, gone, resize_body, signal_body, still_runs, waits_left
from ._result import Content, ExecutionResult


class AsyncProcess(ProcessState):
    """As Process, for asyncio. AsyncSession.process starts one; async with ends it."""

    def __init__(self, http: AsyncTransport, session: str, said: Any) -> None:
        super().__init__(session, said)
        self._http = http

    async def send(self, content: Content = "", *, eof: bool = False) -> None:
        """As Process.send."""
        data, query = self._stdin(content, eof)
        await self._http.transfer("POST", self._path + "/stdin", data, query)

    async def signal(self, name: str) -> None:
        """As Process.signal."""
        await self._http.call("POST", self._path + "/signal", signal_body(name))

    async def resize(self, rows: int, columns: int) -> None:
        """As Process.resize."""
        await self._http.call("POST", self._path + "/resize", resize_body(rows, columns))

    async def output(self, since: int = 0, *, wait_seconds: float = 0) -> ProcessOutput:
        """As Process.output."""
        return ProcessOutput.of(await self._http.call("GET", self._path + "/output", query=self._output(since, wait_seconds)))

    async def attach(self, since: int = 0) -> AsyncIterator[ProcessPiece]:
        """As Process.attach."""
        while True:
            got = await self.output(since, wait_seconds=_LONGEST_WAIT)
            for piece in got.pieces:
                yield piece
            if got.ended:
                return
            since = got.next

    async def poll(self) -> Optional[ExecutionResult]:
        """As Process.poll."""
        return ended(await self._http.call("GET", self._path))

    async def wait(self, timeout_seconds: Optional[float] = None) -> ExecutionResult:
        """As Process.wait."""
        check(timeout_seconds=timeout_seconds)
        deadline = None if timeout_seconds is None else time.monotonic() + timeout_seconds
        since = int((await self._http.call("GET", self._path)).get("output_offset") or 0)
        while (result := await self.poll()) is None:
            left = waits_left(deadline)
            if left <= 0:
                raise still_runs(self.pid, timeout_seconds)
            since = (await self.output(since, wait_seconds=left)).next
        return result

    async def kill(self) -> None:
        """As Process.kill."""
        try:
            await self.signal("SIGKILL")
        except RequestError as e:
            if not gone(e):
                raise

    async def __aenter__(self) -> AsyncProcess:
        return self

    async def __aexit__(self, kind: object, *_: object) -> None:
        try:
            await self.kill()
        except SandboxError:
            if kind is None:  # else the exception from the with block is more useful
                raise
