"""Reads an asynchronous iterator from a thread that has no event loop."""

from __future__ import annotations

import asyncio
import queue
import threading
from typing import AsyncIterator, Callable, Iterator, Optional, Tuple, TypeVar

from ._wire import closing

T = TypeVar("T")


def iterate(make: Callable[[], AsyncIterator[T]]) -> Iterator[T]:
    """Yields what an asynchronous iterator yields. It runs in a thread, which ends with this iterator."""
    came: "queue.Queue[Tuple[bool, Optional[T], Optional[BaseException]]]" = queue.Queue()
    loop = asyncio.new_event_loop()

    async def pump() -> None:
        async with closing(make()) as coming:
            async for one in coming:
                came.put((False, one, None))

    task = loop.create_task(pump())

    def run() -> None:
        failed: Optional[BaseException] = None
        try:
            loop.run_until_complete(task)
        except BaseException as e:  # it is raised by the thread that reads
            failed = e
        finally:
            loop.run_until_complete(loop.shutdown_asyncgens())
            loop.close()
            came.put((True, None, failed))

    thread = threading.Thread(target=run, name="brig-loop", daemon=True)
    thread.start()
    try:
        while True:
            ended, one, failed = came.get()
            if failed is not None:
                raise failed
            if ended:
                return
            yield one  # type: ignore[misc]
    finally:
        try:
            loop.call_soon_threadsafe(task.cancel)
        except RuntimeError:  # the loop has ended
            pass
        thread.join()
