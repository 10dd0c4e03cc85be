"""Refuses arguments of a wrong type, before anything is sent: the error names the argument and what is right."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Callable, Dict, Iterable, Tuple

from ._limits import ResourceLimits
from ._result import Blob

_Kind = Tuple[Callable[[Any], bool], str]


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _is_content(value: Any) -> bool:
    return isinstance(value, (str, bytes, bytearray))


def _is_list_of_texts(value: Any) -> bool:
    return isinstance(value, (list, tuple)) and all(isinstance(one, str) for one in value)


def _is_flag(value: Any) -> bool:
    return isinstance(value, bool)


def _is_texts_by_name(value: Any) -> bool:
    return isinstance(value, Mapping) and all(isinstance(k, str) and isinstance(v, str) for k, v in value.items())


def _is_file_content(value: Any) -> bool:
    return _is_content(value) or isinstance(value, Blob)


def _is_files(value: Any) -> bool:
    return isinstance(value, Mapping) and all(isinstance(k, str) and _is_file_content(v) for k, v in value.items())


def _is_tools(value: Any) -> bool:
    return isinstance(value, Mapping) and all(isinstance(k, str) and callable(v) for k, v in value.items())


def _is_size(value: Any) -> bool:
    return isinstance(value, tuple) and len(value) == 2 and all(isinstance(n, int) and not isinstance(n, bool) for n in value)


_FUNCTION: _Kind = (callable, "a function of one argument")
_TEXT: _Kind = (lambda v: isinstance(v, str), 'a text, such as "{}"')
_CONTENT: _Kind = (_is_content, "str or bytes, such as str(value) to send its text")
_FLAG: _Kind = (_is_flag, "True or False")
_NUMBER: _Kind = (_is_number, "a number of seconds, such as 2.5")
_COUNT: _Kind = (lambda v: isinstance(v, int) and not isinstance(v, bool), "a whole number, such as 8")
_SIZE: _Kind = (lambda v: isinstance(v, str), 'a text with a unit, such as "64m"')
_LIST: _Kind = (_is_list_of_texts, "a list of texts, such as [{}]")


def _like(kind: _Kind, example: str) -> _Kind:
    return kind[0], kind[1].format(example)


# What each argument must be, wherever it appears. None is right where it is the default.
_ARGUMENTS: Dict[str, _Kind] = {
    "code": _CONTENT,
    "source": _CONTENT,
    "stdin": _CONTENT,
    "content": _CONTENT,
    "packed": _CONTENT,
    "expected": _CONTENT,
    "language": _like(_TEXT, "python"),
    "image": _like(_TEXT, "python"),
    "limits": (lambda v: isinstance(v, ResourceLimits), 'ResourceLimits, such as ResourceLimits(memory_limit="256m", timeout_seconds=5)'),
    "network_enabled": _FLAG,
    "read_only": _FLAG,
    "keep_files": _FLAG,
    "own_image": _FLAG,
    "stop_at_failure": _FLAG,
    "keep_results": _FLAG,
    "executable": _FLAG,
    "volume": _FLAG,
    "shared": _FLAG,
    "temporary": _FLAG,
    "env_vars": (_is_texts_by_name, 'a dict of texts, such as {"HOME": "/box"}'),
    "files": (_is_files, 'a dict of names and contents, such as {"data.csv": "1,2"}'),
    "allow": _like(_LIST, '"pypi.org"'),
    "requirements": _like(_LIST, '"numpy==2.*"'),
    "args": _like(_LIST, '"--fast"'),
    "command": _like(_LIST, '"sh", "-c", "echo 1"'),
    "mode": _like(_TEXT, "strict"),
    "project": _like(_TEXT, "course"),
    "task": _like(_TEXT, "ann"),
    "run": _like(_TEXT, "4711"),
    "key": _like(_TEXT, "step 17"),
    "api_key": _like(_TEXT, "brig_..."),
    "compare": _like(_TEXT, "tokens"),
    "tolerance": (_is_number, "a number, such as 1e-6"),
    "input_file": _like(_TEXT, "input.txt"),
    "output_file": _like(_TEXT, "output.txt"),
    "report": _like(_TEXT, "pytest"),
    "source_name": _like(_TEXT, "solution.py"),
    "cases": _COUNT,
    "concurrency": _COUNT,
    "retries": _COUNT,
    "repeat": _COUNT,
    "limit": _COUNT,
    "problem": _like(_TEXT, "sum"),
    "name": _like(_TEXT, "sum"),
    "directory": _like(_TEXT, "bin"),
    "verdict": _like(_TEXT, "wall-limit"),
    "batch_id": _like(_TEXT, "an id of a batch"),
    "snapshot": _like(_TEXT, "ready"),
    "paths": _like(_LIST, '"/box/out"'),
    "session_id": _like(_TEXT, "an id of a session"),
    "run_id": _like(_TEXT, "an id of a run"),
    "rejudge_id": _like(_TEXT, "an id of a rejudge"),
    "batch": _like(_TEXT, "an id of a batch"),
    "runs": _like(_LIST, '"an id of a run"'),
    "verdicts": _like(_LIST, '"wall-limit"'),
    "link_id": _like(_TEXT, "an id of a link"),
    "token": _like(_TEXT, "the token of a link"),
    "title": _like(_TEXT, "Exercise 3"),
    "show": _like(_LIST, '"first_failed"'),
    "container_id": _like(_TEXT, "an id of a run"),
    "memory_limit": _SIZE,
    "size": _SIZE,
    "timeout_seconds": _NUMBER,
    "timeline_seconds": _NUMBER,
    "deadline_seconds": _NUMBER,
    "idle_seconds": _NUMBER,
    "life_seconds": _NUMBER,
    "longest_seconds": _NUMBER,
    "patience": _NUMBER,
    "room_timeout": _NUMBER,
    "away_timeout": _NUMBER,
    "answer_timeout": _NUMBER,
    "wait_seconds": _NUMBER,
    "silent": _FLAG,
    "eof": _FLAG,
    "stdin_open": _FLAG,
    "tag": _like(_TEXT, "server"),
    "kernel_id": _like(_TEXT, "an id of a kernel"),
    "pid": _COUNT,
    "since": _COUNT,
    "rows": _COUNT,
    "columns": _COUNT,
    "tty": (_is_size, "a pair of rows and columns, such as (24, 80)"),
    "on_stdout": _FUNCTION,
    "on_stderr": _FUNCTION,
    "on_display": _FUNCTION,
    "tools": (_is_tools, 'a dict of functions, such as {"add": add}'),
    "progress": (lambda v: isinstance(v, bool) or callable(v), "True, or a function of one argument"),
}

# Arguments that must have a value.
_NEEDED = {"code", "source", "content", "compare", "concurrency", "problem", "name", "batch_id", "session_id", "run_id", "rejudge_id", "link_id", "token", "container_id", "command", "report", "repeat", "kernel_id", "pid", "since", "rows", "columns"}


def check(**arguments: Any) -> None:
    """Raises TypeError for the first argument whose type is wrong."""
    for name, value in arguments.items():
        right, words = _ARGUMENTS[name]
        if value is None and name not in _NEEDED:
            continue
        if not right(value):
            raise TypeError(f"{name} is {value!r:.80}: write {words}{_also(name, value)}")


def _also(name: str, value: Any) -> str:
    """What was probably meant by a value that is often mistaken."""
    if name == "command" and isinstance(value, str):
        return ": use ['sh', '-c', ...] to run a shell command line"
    if name in ("env_vars", "files") and isinstance(value, Mapping):
        for key, one in value.items():
            if not isinstance(key, str):
                return f": the name {key!r:.40} is no text"
            if not (isinstance(one, str) if name == "env_vars" else _is_file_content(one)):
                return f": {key!r:.40} has {one!r:.40}"
    return ""


def check_items(what: str, items: object) -> None:
    """Raises TypeError if one item was given instead of many."""
    if isinstance(items, (str, bytes, Mapping)) or not isinstance(items, Iterable):
        raise TypeError(f"{what} takes a list of items, not {items!r:.80}: put one item in a list")
