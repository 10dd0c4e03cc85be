"""Commands that may take as long as their session: each is a process, whose output is read while it runs."""

from __future__ import annotations

import asyncio
import contextlib
import time
from dataclasses import dataclass
from typing import AsyncIterator, Dict, List, Mapping, Optional, Union

from .._async_process import AsyncProcess
from .._async_session import AsyncSession
from .._errors import InfraError, RequestError, SandboxError
from . import _shell

# The most bytes of each stream that a result has.
MOST = 16 << 20

# How long one request waits for output.
_WAIT = 30.0

# Executes a line with bash if there is one: that is what the lines of tasks are written for.
_LINE = 'command -v bash >/dev/null 2>&1 && exec bash -c "$1"; exec sh -c "$1"'
_SCRIPT = 'command -v bash >/dev/null 2>&1 && exec bash "$1"; exec sh "$1"'


@dataclass(frozen=True)
class Ended:
    """How a command ended.

    exit_code: 128 plus the number of a signal, 124 if it was too late
    late:      it was killed, because its time was over
    """

    stdout: str
    stderr: str
    exit_code: int
    late: bool = False


async def line(session: AsyncSession, command: str) -> List[str]:
    """The words that execute a line of the shell, however long it is."""
    if not _shell.is_long([command], None):
        return ["sh", "-c", _LINE, "sh", command]
    name = _shell.spare()
    await session.put_file(name, _shell.script(name, command))
    return ["sh", "-c", _SCRIPT, "sh", "/box/" + name]


async def run(
    session: AsyncSession,
    words: List[str],
    *,
    directory: Optional[str] = None,
    env: Optional[Mapping[str, str]] = None,
    seconds: Optional[float] = None,
) -> Ended:
    """Executes a command. Cancellation, and the end of seconds, kill it. A command that cannot be started has the exit code of a shell."""
    if seconds is not None and seconds <= 0:
        raise ValueError(f"the time is {seconds!r}: write a number of seconds above 0, or None")
    end = None if seconds is None else time.monotonic() + seconds
    try:
        process = await session.process(_shell.change_directory(words, directory), env_vars=env)
    except RequestError as e:
        code = _shell.not_started(e)
        if code is None:
            raise
        return Ended("", e.message + "\n", code)
    try:
        return await _follow(process, end)
    except BaseException:  # cancellation, too: nobody would know of the process any more
        await _kill(process)
        raise


async def _follow(process: AsyncProcess, end: Optional[float]) -> Ended:
    kept: Dict[str, bytearray] = {"stdout": bytearray(), "stderr": bytearray()}
    since = lost = 0
    while True:
        left = _WAIT if end is None else min(_WAIT, end - time.monotonic())
        if left <= 0:
            await process.kill()
            return _ended(kept, lost, 124, True, "the command was killed: its time was over")
        got = await process.output(since, wait_seconds=left)
        since, lost = got.next, lost + got.gap
        for piece in got.pieces:
            room = max(0, MOST - len(kept[piece.stream]))
            kept[piece.stream] += piece.data[:room]
            lost += max(0, len(piece.data) - room)
        if got.ended:
            break

    result = await process.poll()
    if result is None:
        raise InfraError("a process has ended, and its result is missing", code="bad-answer")
    said = "" if result.verdict in ("ok", "nonzero", "signaled") else result.error_message or result.verdict
    return _ended(kept, lost, result.exit_code, False, said)


def _ended(kept: Mapping[str, bytearray], lost: int, code: int, late: bool, said: str) -> Ended:
    stderr = kept["stderr"].decode("utf-8", "replace")
    notes = [said] if said else []
    if lost:
        notes.append(f"{lost} bytes of output are left out")
    for note in notes:
        stderr += f"{'' if not stderr or stderr.endswith(chr(10)) else chr(10)}brig: {note}\n"
    return Ended(kept["stdout"].decode("utf-8", "replace"), stderr, code, late)


async def _kill(process: AsyncProcess) -> None:
    """Kills a process also if the task is canceled again. If that fails, it ends with its session."""
    killing = asyncio.ensure_future(process.kill())
    while not killing.done():
        with contextlib.suppress(asyncio.CancelledError, SandboxError):
            await asyncio.shield(killing)


class Stream:
    """One of the two outputs of a process, as an asynchronous iterator. What nobody reads is kept, up to MOST bytes."""

    def __init__(self) -> None:
        self._chunks: asyncio.Queue[Union[bytes, Exception, None]] = asyncio.Queue()
        self._waiting = 0

    def put(self, data: bytes) -> None:
        if self._waiting + len(data) > MOST:
            raise InfraError(f"nobody has read {MOST >> 20} MiB of the output of a process", code="slow-reader")
        self._waiting += len(data)
        self._chunks.put_nowait(data)

    def end(self, why: Optional[Exception] = None) -> None:
        self._chunks.put_nowait(why)

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while True:
            chunk = await self._chunks.get()
            if not isinstance(chunk, bytes):
                self.end(chunk)  # for the next reader
                if chunk is not None:
                    raise chunk
                return
            self._waiting -= len(chunk)
            yield chunk


# Users that are the one user of a sandbox: images of tasks call it root.
_THE_USER = (None, "", "root", 0, "0", "sandboxuser", 1000, "1000")


def is_the_user(user: Union[str, int, None]) -> bool:
    """Whether a user is the one that all commands of a sandbox run as."""
    return user in _THE_USER


def other_user(user: object) -> str:
    """Why a command is not executed as another user."""
    return f"cannot run as {user}: a sandbox of brig has one user, whom images of tasks call root"
