"""Files and commands of an asynchronous session at any path."""

from __future__ import annotations

from typing import List, Mapping, Optional

from .._async_session import AsyncSession
from .._errors import RequestError
from .._result import Content, ExecutionResult
from .._session import content_bytes
from . import _shell


async def run(
    session: AsyncSession,
    command: List[str],
    *,
    stdin: Content = "",
    directory: Optional[str] = None,
    env: Optional[Mapping[str, str]] = None,
    seconds: Optional[float] = None,
) -> ExecutionResult:
    """Executes a command, however long it and its input are. More seconds than the service allows are as many as it allows."""
    command = _shell.change_directory(command, directory)
    if _shell.is_long(command, env):
        name = _shell.spare()
        await session.put_file(name, _shell.long_content(command))
        command = _shell.long_command(name)
    data = content_bytes(stdin)
    if len(data) <= _shell.SMALL:
        return await _exec(session, command, data, env, seconds)
    name = _shell.spare()
    await session.put_file(name, data)
    try:
        return await _exec(session, ["sh", "-c", 'exec <"$1" && shift && exec "$@"', "sh", "/box/" + name, *command], b"", env, seconds)
    finally:
        await session.delete_file(name)


async def _exec(session: AsyncSession, command: List[str], stdin: bytes, env: Optional[Mapping[str, str]], seconds: Optional[float]) -> ExecutionResult:
    try:
        return await session.run(command, stdin=stdin, env_vars=env, timeout_seconds=seconds)
    except RequestError as e:
        if not _shell.above_ceiling(e, seconds):
            raise
    return await session.run(command, stdin=stdin, env_vars=env)


async def read(session: AsyncSession, path: str, limit: int) -> bytes:
    """The content of a file. Raises OSError, or TooLarge."""
    copy = _shell.spare()
    result = await session.run(_shell.read_command(path, limit, copy))
    _shell.check_file(result, path)
    if not _shell.was_copied(result):
        return result.stdout_bytes
    try:
        return await session.get_file(copy)
    finally:
        await session.delete_file(copy)


async def write(session: AsyncSession, path: str, content: Content) -> None:
    """Writes a file, and makes its directories. Raises OSError."""
    data = content_bytes(content)
    if len(data) <= _shell.SMALL:
        _shell.check_file(await session.run(_shell.write_command(path, ""), stdin=data), path)
        return
    source = _shell.spare()
    await session.put_file(source, data)
    result = await session.run(_shell.write_command(path, source))
    if not result.success:
        await session.delete_file(source)
    _shell.check_file(result, path)
