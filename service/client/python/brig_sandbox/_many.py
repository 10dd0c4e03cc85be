"""Many items at a time."""

from __future__ import annotations

import inspect
import sys
import time
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional, Union

from ._errors import SandboxError
from ._result import ExecutionResult

Item = Union[str, Mapping[str, Any]]


@dataclass(frozen=True)
class ManyProgress:
    """How far execute_many is, for a progress function.

    results: items that have a result
    failed:  items that brig could not run
    running: items that are under way
    seconds: since the call began
    """

    results: int
    failed: int
    running: int
    seconds: float

    def __str__(self) -> str:
        failed = f", {self.failed} not run" if self.failed else ""
        return f"brig: {self.results} results{failed}, {self.running} under way, {self.seconds:.0f} s"


ShowMany = Union[bool, Callable[[ManyProgress], None], None]


class Items:
    """What execute_many knows of its items: which are under way, and which failed."""

    def __init__(self, execute: Callable[..., Any], progress: ShowMany) -> None:
        self.running = 0
        self._known = [name for name in inspect.signature(execute).parameters if name != "self"]
        self._progress = _printed() if progress is True else progress or None
        self._began = time.monotonic()
        self._results = 0
        self._failed: List[SandboxError] = []

    def arguments(self, index: int, item: Any) -> Dict[str, Any]:
        """The arguments of an item."""
        if isinstance(item, (str, bytes)):
            return {"code": item}
        if not isinstance(item, Mapping):
            raise TypeError(f'item {index} is {item!r:.80}: write code, or a dict of arguments such as {{"code": "print(1)", "stdin": "1"}}')
        for name in item:
            if name not in self._known:
                raise TypeError(f"item {index} has {name!r:.40}, which is no argument: the arguments are {', '.join(self._known)}")
        if "code" not in item:
            raise TypeError(f'item {index} has no code: write {{"code": ...}}')
        return dict(item)

    def done(self, index: int, result: ExecutionResult) -> ExecutionResult:
        self._results += 1
        self._show()
        return replace(result, index=index)

    def failed(self, index: int, e: SandboxError) -> None:
        e.index = index
        self._failed.append(e)
        self._show()

    def end(self) -> None:
        """Raises the error of the first item that failed, with those of later items in others."""
        if self._failed:
            self._failed.sort(key=lambda e: e.index or 0)
            self._failed[0].others = self._failed[1:]
            raise self._failed[0]

    def _show(self) -> None:
        if self._progress is not None:
            self._progress(ManyProgress(self._results, len(self._failed), self.running, time.monotonic() - self._began))


def _printed() -> Callable[[ManyProgress], None]:
    """A progress function that prints a line to stderr every ten seconds."""
    last = 0.0

    def show(now: ManyProgress) -> None:
        nonlocal last
        if now.seconds - last >= 10 or not now.running:
            last = now.seconds
            print(now, file=sys.stderr, flush=True)

    return show


def execute_each(execute: Callable[..., ExecutionResult], items: Iterator[Item], concurrency: int, progress: ShowMany) -> Iterator[ExecutionResult]:
    """Yields the result of execute for each item as it arrives; errors are raised after the last."""
    known = Items(execute, progress)
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
                waiting[pool.submit(execute, **known.arguments(index, item))] = index
                index += 1
            if not waiting:
                break
            done, _ = wait(waiting, return_when=FIRST_COMPLETED)
            for future in done:
                position = waiting.pop(future)
                known.running = len(waiting)
                try:
                    result = future.result()
                except SandboxError as e:
                    known.failed(position, e)
                else:
                    yield known.done(position, result)
    known.end()
