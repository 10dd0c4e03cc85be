"""Kernels of the asynchronous client."""

from __future__ import annotations

import inspect
from typing import Any, Callable, Dict, Mapping, Optional

from ._async_http import AsyncTransport
from ._errors import RequestError, SandboxError
from ._events import events_async
from ._kernel import AsyncTools, CellResult, Display, Gathering, KernelState, Show, answer, broken_off, called, lost, refusal, state_of
from ._wire import closing


class AsyncKernel(KernelState):
    """As Kernel, for asyncio. AsyncSession.kernel makes one; async with ends it."""

    def __init__(self, http: AsyncTransport, session: str, said: Any) -> None:
        super().__init__(session, said)
        self._http = http

    async def execute(
        self,
        code: str,
        *,
        on_stdout: Optional[Show] = None,
        on_stderr: Optional[Show] = None,
        on_display: Optional[Callable[[Display], object]] = None,
        tools: Optional[AsyncTools] = None,
        env_vars: Optional[Mapping[str, str]] = None,
        timeout_seconds: Optional[float] = None,
        silent: bool = False,
    ) -> CellResult:
        """As Kernel.execute. Tools may be coroutine functions. A canceled task interrupts its cell."""
        request = self._cell(code, env_vars, timeout_seconds, silent, {"on_stdout": on_stdout, "on_stderr": on_stderr, "on_display": on_display, "tools": tools})
        state = Gathering(on_stdout, on_stderr, on_display)
        async with closing(events_async(self._http, request)) as coming:
            async for said in coming:
                if said.get("type") == "ask":
                    await self._answer(said, tools)
                result = state.take(said)
                if result is not None:
                    return result
        raise broken_off()

    async def _answer(self, said: Dict[str, Any], tools: Optional[AsyncTools]) -> None:
        try:
            value = called(said, tools)()
            body = answer(said, await value if inspect.isawaitable(value) else value)
        except Exception as e:  # the error of a tool is the cell's
            body = refusal(said, e)
        try:
            await self._http.call("POST", self._path + "/answer", body)
        except RequestError as e:
            if not lost(e):
                raise

    async def interrupt(self) -> None:
        """As Kernel.interrupt."""
        await self._http.call("POST", self._path + "/interrupt")

    async def restart(self) -> None:
        """As Kernel.restart."""
        await self._http.call("POST", self._path + "/restart", stays=True)

    async def status(self) -> str:
        """As Kernel.status."""
        return state_of(await self._http.call("GET", self._path))

    async def delete(self) -> None:
        """As Kernel.delete."""
        try:
            await self._http.call("DELETE", self._path)
        except RequestError as e:
            if e.status not in (404, 410):
                raise

    async def __aenter__(self) -> AsyncKernel:
        return self

    async def __aexit__(self, kind: object, *_: object) -> None:
        try:
            await self.delete()
        except SandboxError:
            if kind is None:  # else the exception from the with block is more useful
                raise
