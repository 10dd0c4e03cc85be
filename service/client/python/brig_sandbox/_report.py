"""A report on a run, for debugging it later."""

from __future__ import annotations

import json
import platform
from dataclasses import asdict, dataclass, field
from datetime import datetime, timezone
from typing import Any, Dict, Optional

from ._analysis import ErrorAnalysis, analyze
from ._result import ExecutionResult
from ._version import __version__

_STREAM = 16 << 10  # characters of each stream that a report keeps


@dataclass(frozen=True)
class DebugReport:
    """Everything known about a run. str() returns it as text, to_json() as JSON for programs."""

    result: ExecutionResult
    analysis: ErrorAnalysis
    code: str
    service: Dict[str, Any]  # /health; empty if it did not answer
    client: str = "brig-sandbox " + __version__ + ", Python " + platform.python_version()
    created: datetime = field(default_factory=lambda: datetime.now(timezone.utc))

    @classmethod
    def of(cls, result: ExecutionResult, code: str, service: Dict[str, Any]) -> DebugReport:
        return cls(result=result, analysis=analyze(result), code=code, service=service)

    def to_json(self) -> str:
        said = {k: v for k, v in self.result.raw.items() if k not in ("stdout", "stderr", "files")}
        return json.dumps(
            {
                "created": self.created.isoformat(),
                "client": self.client,
                "run": said,
                "stdout": _tail(self.result.stdout),
                "stderr": _tail(self.result.stderr),
                "files": {name: len(content) for name, content in self.result.files.items()},
                "analysis": asdict(self.analysis),
                "code": self.code,
                "service": self.service,
            },
            indent=2,
        )

    def __str__(self) -> str:
        r, a, u = self.result, self.analysis, self.result.usage
        lines = [
            f"run {r.container_id or '(no id)'}: {r.language}, {r.verdict}, exit code {r.exit_code}",
            f"began {r.timestamp.isoformat()}, ran {r.execution_time:.3f} s",
            f"used  processor {_known(u.cpu_seconds, 's')}, memory {_known(u.memory_bytes, 'bytes')}, processes {_known(u.processes, '')}",
        ]
        if a.is_error:
            where = f" at {a.file}:{a.line}" if a.file and a.line else f" at line {a.line}" if a.line else ""
            lines.append(f"error {a.error_type} ({a.category}){where}: {a.message}")
            if a.hint:
                lines.append(f"hint  {a.hint}")
        for name, text in (("code", self.code), ("stdout", _tail(r.stdout)), ("stderr", _tail(r.stderr))):
            if text:
                lines += [f"--- {name}", text.rstrip("\n")]
        lines.append(f"--- {self.client}; report of {self.created.isoformat()}")
        return "\n".join(lines)


def _tail(text: str) -> str:
    return text if len(text) <= _STREAM else "[...]\n" + text[-_STREAM:]


def _known(value: Optional[float], unit: str) -> str:
    return "unknown" if value is None else f"{value:g} {unit}".rstrip()
