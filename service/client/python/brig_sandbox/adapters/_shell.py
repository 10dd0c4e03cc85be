"""Files and commands of a session at any path, by its shell. Nothing here sends: it says what to execute, and reads results."""

from __future__ import annotations

import errno
import secrets
import warnings
from typing import List, Mapping, Optional

from .._errors import RequestError
from .._result import ExecutionResult

# What goes through the streams of one exec; more goes through a file in /box.
SMALL = 1 << 20

# The most bytes of a command with its environment that the service takes.
_COMMAND = 120 << 10

# How the scripts below say what was wrong. No shell and no program of them exits with these.
_IS_DIRECTORY, _NOT_FOUND, _DENIED, _TOO_LARGE, _COPIED = 201, 202, 203, 204, 205

# $1 path, $2 the largest size, $3 what is large, $4 where a large file is copied to
_READ = f"""
[ ! -d "$1" ] || exit {_IS_DIRECTORY}
[ -e "$1" ] || exit {_NOT_FOUND}
[ -r "$1" ] || exit {_DENIED}
size=$(wc -c <"$1") || exit {_DENIED}
[ "$size" -le "$2" ] || exit {_TOO_LARGE}
if [ "$size" -gt "$3" ]; then
    ln -L -- "$1" "$4" 2>/dev/null && exit {_COPIED}
    cat <"$1" >"$4" && exit {_COPIED}
    rm -f "$4"
    exit 1
fi
exec cat <"$1"
"""

# $1 path, $2 the file with the content; empty: stdin
_WRITE = f"""
[ ! -d "$1" ] || exit {_IS_DIRECTORY}
case "$1" in
*/*) mkdir -p -- "${{1%/*}}/" || exit {_DENIED} ;;
esac
[ ! -e "$1" ] || [ -w "$1" ] || exit {_DENIED}
if [ -z "$2" ]; then
    cat >"$1"
elif [ -e "$1" ]; then
    cat <"$2" >"$1" && rm -f "$2"
else
    mv -- "$2" "$1"
fi
"""

# $1 the directory, then the command
_CHANGE_DIRECTORY = 'cd -- "$1" && shift && exec "$@"'

# Executes a command that is too long for a request: its words are in a file, which it removes.
_LONG = "import os,sys\nf=sys.argv[1]\nwords=open(f,'rb').read().split(b'\\0')\nos.remove(f)\nos.execvp(words[0],words)"


def spare() -> str:
    """A name in /box that nothing has."""
    return ".brig-" + secrets.token_hex(8)


def read_command(path: str, limit: int, copy: str) -> List[str]:
    """Writes a file to stdout, or copies a large one to /box/copy."""
    return ["sh", "-c", _READ, "sh", _plain(path), str(limit), str(SMALL), "/box/" + copy]


def was_copied(result: ExecutionResult) -> bool:
    return result.exit_code == _COPIED


def write_command(path: str, source: str) -> List[str]:
    """Writes stdin, or the content of /box/source, which is then gone, to a file, and makes its directories."""
    return ["sh", "-c", _WRITE, "sh", _plain(path), "/box/" + source if source else ""]


def _plain(path: str) -> str:
    """A path that no program takes for an option."""
    return path if path.startswith("/") else "./" + path


def change_directory(command: List[str], directory: Optional[str]) -> List[str]:
    """The command in another directory than /box."""
    return command if directory is None else ["sh", "-c", _CHANGE_DIRECTORY, "sh", directory, *command]


def is_long(command: List[str], env: Optional[Mapping[str, str]]) -> bool:
    words = [*command, *(env or {}), *(env or {}).values()]
    return sum(len(word.encode("utf-8", "surrogateescape")) + 1 for word in words) > _COMMAND


def long_command(name: str) -> List[str]:
    """Executes the command whose words are in /box/name. It needs python3 in the image."""
    return ["python3", "-c", _LONG, "/box/" + name]


def long_content(command: List[str]) -> bytes:
    return b"\0".join(word.encode("utf-8", "surrogateescape") for word in command)


def script(name: str, line: str) -> bytes:
    """The content of /box/name, a script with a line that is too long for an argument; it removes itself."""
    return f"rm -f -- /box/{name}\n{line}\n".encode("utf-8", "surrogateescape")


class TooLarge(Exception):
    """A file is larger than the caller takes."""


def check_file(result: ExecutionResult, path: str) -> None:
    """Raises the OSError of a read_command or write_command that failed, or TooLarge."""
    if result.success or was_copied(result):
        return
    said = result.stderr.strip()
    if result.timeout:
        raise TimeoutError(f"{path}: not done in time: {result.error_message}")
    if result.exit_code == _TOO_LARGE:
        raise TooLarge(path)
    if result.exit_code == _IS_DIRECTORY:
        raise IsADirectoryError(errno.EISDIR, "it is a directory", path)
    if result.exit_code == _NOT_FOUND:
        raise FileNotFoundError(errno.ENOENT, "no such file in the sandbox", path)
    if "No space left" in said or result.verdict == "memory-limit":
        raise OSError(errno.ENOSPC, "the sandbox has no space left: give the session more memory", path)
    if "Not a directory" in said or "File exists" in said:
        raise NotADirectoryError(errno.ENOTDIR, said, path)
    if result.exit_code == _DENIED or "ermission denied" in said or "Read-only file system" in said:
        raise PermissionError(errno.EACCES, said or "permission denied in the sandbox", path)
    raise OSError(errno.EIO, said or result.error_message or "failed", path)


def above_ceiling(e: RequestError, seconds: Optional[float]) -> bool:
    """Whether a command was refused for its time limit alone: then the session's own limit counts, and a warning says so."""
    if e.code != "above-ceiling" or seconds is None:
        return False
    warnings.warn(f"a timeout of {seconds:g} s is above what the service allows, so its own limit counts: {e.message}", RuntimeWarning, stacklevel=3)
    return True


def not_started(e: RequestError) -> Optional[int]:
    """The exit code that a shell gives for a command that could not be started; None: it is another refusal."""
    return {"program-not-found": 127, "program-not-executable": 126}.get(e.code)


def outcome(result: ExecutionResult) -> str:
    """stderr, with a line on what stopped the command, if it did not end by itself."""
    if result.verdict in ("ok", "nonzero", "signaled"):
        return result.stderr
    return f"{result.stderr}{'' if not result.stderr or result.stderr.endswith(chr(10)) else chr(10)}brig: {result.error_message}\n"
