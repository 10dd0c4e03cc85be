"""Many items at a time, over asyncio."""

from __future__ import annotations

import asyncio
from typing import Any, AsyncIterator, Awaitable, Callable, Iterator, Set, Tuple, Union

from ._errors import SandboxError
from ._many import Item, Items, ShowMany
from ._result import ExecutionResult

_Came = Tuple[int, Union[ExecutionResult, SandboxError]]


async def execute_each(execute: Callable[..., Awaitable[ExecutionResult]], items: Iterator[Item], concurrency: int, progress: ShowMany) -> AsyncIterator[ExecutionResult]:
    """Yields the result of execute for each item as it arrives; errors are raised after the last."""
    known = Items(execute, progress)
    tasks: "Set[asyncio.Task[_Came]]" = set()

    async def one(index: int, arguments: Any) -> _Came:
        try:
            return index, await execute(**arguments)
        except SandboxError as e:
            return index, e

    try:
        index, more = 0, True
        while True:
            while more and len(tasks) < concurrency:
                try:
                    item = next(items)
                except StopIteration:
                    more = False
                    break
                tasks.add(asyncio.ensure_future(one(index, known.arguments(index, item))))
                index += 1
            if not tasks:
                break
            done, tasks = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            known.running = len(tasks)
            for task in done:
                position, came = task.result()
                if isinstance(came, SandboxError):
                    known.failed(position, came)
                else:
                    yield known.done(position, came)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    known.end()
