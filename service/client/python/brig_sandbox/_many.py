"""Many items at a time."""

from __future__ import annotations

from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import replace
from typing import Any, Callable, Dict, Iterator, List, Mapping, Union

from ._errors import SandboxError
from ._result import ExecutionResult

Item = Union[str, Mapping[str, Any]]


def execute_each(execute: Callable[..., ExecutionResult], items: Iterator[Item], concurrency: int) -> Iterator[ExecutionResult]:
    """Yields the result of execute for each item as it arrives; errors are raised after the last."""
    failed: List[SandboxError] = []
    with ThreadPoolExecutor(concurrency, thread_name_prefix="brig") as pool:
        waiting: Dict[Future[ExecutionResult], int] = {}
        index, more = 0, True
        while True:
            while more and len(waiting) < concurrency:
                try:
                    item = next(items)
                except StopIteration:
                    more = False
                    break
                arguments: Dict[str, Any] = {"code": item} if isinstance(item, str) else dict(item)
                waiting[pool.submit(execute, **arguments)] = index
                index += 1
            if not waiting:
                break
            done, _ = wait(waiting, return_when=FIRST_COMPLETED)
            for future in done:
                position = waiting.pop(future)
                try:
                    result = future.result()
                except SandboxError as e:
                    e.index = position
                    failed.append(e)
                else:
                    yield replace(result, index=position)
    if failed:
        failed.sort(key=lambda e: e.index or 0)
        failed[0].others = failed[1:]
        raise failed[0]
