"""Files of a synchronous session at any path."""

from __future__ import annotations

from .._result import Content
from .._session import Session, content_bytes
from . import _shell


def read(session: Session, path: str, limit: int) -> bytes:
    """The content of a file. Raises OSError, or TooLarge."""
    copy = _shell.spare()
    result = session.run(_shell.read_command(path, limit, copy))
    _shell.check_file(result, path)
    if not _shell.was_copied(result):
        return result.stdout_bytes
    try:
        return session.get_file(copy)
    finally:
        session.delete_file(copy)


def write(session: Session, path: str, content: Content) -> None:
    """Writes a file, and makes its directories. Raises OSError."""
    data = content_bytes(content)
    if len(data) <= _shell.SMALL:
        _shell.check_file(session.run(_shell.write_command(path, ""), stdin=data), path)
        return
    source = _shell.spare()
    session.put_file(source, data)
    result = session.run(_shell.write_command(path, source))
    if not result.success:
        session.delete_file(source)
    _shell.check_file(result, path)
