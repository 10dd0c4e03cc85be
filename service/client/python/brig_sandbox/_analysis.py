"""Classifies the error of a program."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Optional, Union

from ._result import ExecutionResult, last_line

_RAISED = re.compile(r"([^\W\d][\w.]*)(?:: (.*))?")
_NAMED = re.compile(r"((?:[^\W\d][\w.]*)?(?:Error|Exception|Exit|Interrupt|Iteration|Warning))(?:: (.*))?")
_FRAME = re.compile(r'^\s*File "([^"]+)", line (\d+)', re.MULTILINE)
_CATEGORY = {
    "SyntaxError": "syntax",
    "IndentationError": "syntax",
    "TabError": "syntax",
    "ImportError": "import",
    "ModuleNotFoundError": "import",
    "TypeError": "type",
    "ValueError": "value",
    "MemoryError": "memory",
    "TimeoutError": "time",
}
_VERDICTS = {
    "wall-limit": "time",
    "cpu-limit": "time",
    "memory-limit": "memory",
    "output-limit": "output",
    "denied": "denied",
    "signaled": "signal",
    "compile-error": "compile",
}


@dataclass(frozen=True)
class ErrorAnalysis:
    """The kind of an error. If there was no error, is_error is False and the other fields are empty.

    error_type is the program's name for the error (NameError), or the verdict if the
    program had none (memory-limit). category is one of syntax, import, type, value,
    runtime, memory, time, output, denied, signal, compile. For a program that only
    gave a wrong output to a test, error_type is wrong-answer and category is empty.
    """

    is_error: bool
    error_type: Optional[str] = None
    category: str = ""
    message: str = ""
    file: str = ""
    line: Optional[int] = None
    hint: str = ""


def analyze(result: Union[ExecutionResult, str]) -> ErrorAnalysis:
    """Analyzes a result, by the service's diagnosis if it has one, or a text from stderr."""
    if isinstance(result, str):
        found = _from_text(result)
        return found or ErrorAnalysis(is_error=False)
    if result.success:
        return ErrorAnalysis(is_error=False)
    if result.verdict == "ok":
        return ErrorAnalysis(is_error=True, error_type="wrong-answer", message=result.error_message or "")
    d = result.diagnosis
    if d:
        return ErrorAnalysis(
            is_error=True,
            error_type=str(d.get("type") or result.verdict),
            category=str(d.get("category") or ""),
            message=str(d.get("message") or result.error_message or ""),
            file=str(d.get("file") or ""),
            line=int(d["line"]) if d.get("line") else None,
            hint=str(d.get("hint") or ""),
        )
    category = _VERDICTS.get(result.verdict)
    if category is None:
        found = _from_text(result.stderr)
        if found is not None:
            return found
    return ErrorAnalysis(is_error=True, error_type=result.verdict, category=category or "runtime", message=result.error_message or "")


def _from_text(stderr: str) -> Optional[ErrorAnalysis]:
    """Analyzes Python's output: the exception follows the last frame, unindented."""
    frames = list(_FRAME.finditer(stderr))
    rest = stderr[frames[-1].end() :] if frames else last_line(stderr)
    pattern = _RAISED if frames else _NAMED
    matches = (pattern.fullmatch(line.rstrip()) for line in rest.splitlines())
    match = next((m for m in matches if m), None)
    if match is None:
        return None
    name = match.group(1)
    return ErrorAnalysis(
        is_error=True,
        error_type=name,
        category=_CATEGORY.get(name.rpartition(".")[2], "runtime"),
        message=match.group(2) or "",
        file=frames[-1].group(1) if frames else "",
        line=int(frames[-1].group(2)) if frames else None,
    )
