"""The result of a run."""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import Any, Dict, List, Mapping, Optional, Union

from ._errors import InfraError, reading
from ._network import NetworkUsage

# The exit codes for verdicts without an exit code of the program; brig run exits with the same.
EXIT_CODES = {"wall-limit": 124, "cpu-limit": 124, "memory-limit": 137, "output-limit": 153, "denied": 159, "canceled": 130, "compile-error": 1}

Content = Union[str, bytes]


def encode(content: Content) -> Any:
    """Content in the service's format: text, or base64 if it is not UTF-8."""
    if isinstance(content, str):
        content = content.encode("utf-8", "surrogateescape")
    if not isinstance(content, (bytes, bytearray)):
        raise TypeError(f"{content!r:.80} is neither str nor bytes: write str({content!r:.40}) to send its text")
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(content).decode("ascii")}


def decode(content: Any) -> bytes:
    """The bytes of content that the service sent as text or base64."""
    if content is None:
        return b""
    if isinstance(content, str):
        return content.encode("utf-8", "surrogatepass")
    if isinstance(content, Mapping) and isinstance(content.get("base64"), str):
        try:
            return base64.b64decode(content["base64"], validate=True)
        except (binascii.Error, ValueError):
            pass
    raise InfraError(f"the content has an unknown form: {content!r:.80}", code="bad-answer")


def time_of(text: Any) -> datetime:
    """RFC 3339 in UTC; fractions finer than a microsecond are cut."""
    if isinstance(text, str) and len(text) >= 20:
        whole, _, fraction = text[:-1].partition(".") if text.endswith("Z") else (text, "", "")
        try:
            return datetime.strptime(whole, "%Y-%m-%dT%H:%M:%S").replace(microsecond=int((fraction + "000000")[:6]), tzinfo=timezone.utc)
        except ValueError:
            try:
                return datetime.fromisoformat(text).astimezone(timezone.utc)
            except ValueError:
                pass
    return datetime.now(timezone.utc)


def seconds(nanoseconds: Any) -> float:
    return float(nanoseconds or 0) / 1e9


def figure(usage: Mapping[str, Any], name: str) -> Optional[int]:
    """A measurement of the service; None if it is unknown."""
    value = usage.get(name)
    if isinstance(value, Mapping):  # an object of the value and its source
        value = value.get("value")
    return None if value is None else int(value)


@dataclass(frozen=True)
class Blob:
    """A file that the service keeps for its key, until others take its place. Its name in a later run is in files."""

    digest: str
    size: int = 0  # bytes
    executable: bool = False


@dataclass(frozen=True)
class ResourceUsage:
    """The resource usage of a run. None: unknown on that host."""

    cpu_seconds: Optional[float] = None
    memory_bytes: Optional[int] = None  # the most at any moment
    processes: Optional[int] = None  # the most at any moment
    wall_seconds: float = 0.0

    @classmethod
    @reading()
    def of(cls, said: Mapping[str, Any]) -> ResourceUsage:
        usage = said.get("usage") or {}
        cpu = figure(usage, "cpu_ns")
        return cls(
            cpu_seconds=None if cpu is None else cpu / 1e9,
            memory_bytes=figure(usage, "memory_bytes"),
            processes=figure(usage, "pids_peak"),
            wall_seconds=seconds((said.get("timing") or {}).get("wall_ns")),
        )


@dataclass(frozen=True)
class Timeline:
    """What a program used over time. Point i is (i + 1) * every_seconds after the start.

    The lists are empty if the program ended before the first point. A long run has fewer points
    a second than it asked for: 1,000 at most.
    """

    every_seconds: float
    memory_bytes: List[int]
    cpu_seconds: List[float]  # since the start
    processes: List[int]  # and threads

    @classmethod
    @reading()
    def of(cls, said: Any) -> Optional[Timeline]:
        """The timeline in the service's answer; None if it has none."""
        if said is None:
            return None
        return cls(
            every_seconds=int(said["every_ns"]) / 1e9,
            memory_bytes=[int(n) for n in said["memory"]],
            cpu_seconds=[int(n) / 1e9 for n in said["cpu_ns"]],
            processes=[int(n) for n in said["pids"]],
        )


@dataclass(frozen=True)
class ExecutionResult:
    """How a program ended.

    exit_code is the program's, or the exit code of brig run: 124 for a time limit, 137 for
    the memory limit, 153 for the output limit, 159 for a denied call, 130 if canceled, 1 if
    not compiled, 128 plus the number for any other signal. error_message is None on success.
    """

    success: bool
    stdout: str
    stderr: str
    exit_code: int
    execution_time: float  # seconds from its start to its end, without waiting or compiling
    timeout: bool
    error_message: Optional[str]
    container_id: str  # the run's id
    language: str
    timestamp: datetime  # of its start, in UTC

    verdict: str = ""  # ok, nonzero, signaled, cpu-limit, wall-limit, memory-limit, output-limit, denied, compile-error, canceled
    files: Dict[str, bytes] = field(default_factory=dict)  # the files that it wrote
    blobs: Dict[str, Blob] = field(default_factory=dict)  # instead of files, with keep_files
    usage: ResourceUsage = field(default_factory=ResourceUsage)
    stdout_bytes: bytes = field(default=b"", repr=False)  # the original stdout; in stdout, bytes that are not UTF-8 are U+FFFD
    stderr_bytes: bytes = field(default=b"", repr=False)
    diagnosis: Optional[Dict[str, Any]] = None  # the service's report on a failure
    network: Optional[NetworkUsage] = None  # what a program with network reached
    index: Optional[int] = None  # only for execute_many: the item's position
    raw: Dict[str, Any] = field(default_factory=dict, repr=False)  # the service's complete answer
    timeline: Optional[Timeline] = field(default=None, repr=False)  # only with timeline_seconds

    @property
    def run_id(self) -> str:
        return self.container_id

    @classmethod
    @reading()
    def of(cls, said: Any, language: str) -> ExecutionResult:
        """The result in the service's answer. Raises InfraError if the answer is not a result."""
        if not isinstance(said, dict) or not isinstance(said.get("verdict"), str) or not said["verdict"]:
            raise InfraError("the answer has no verdict: is this a brig service?", code="bad-answer")
        verdict = said["verdict"]
        stdout, stderr = decode(said.get("stdout")), decode(said.get("stderr"))
        late = verdict in ("wall-limit", "cpu-limit")
        signal = int(said.get("signal") or 0)
        code = EXIT_CODES.get(verdict, 128 + signal if signal else int(said.get("exit_code") or 0))
        timing = said.get("timing") or {}
        diagnosis = said.get("diagnosis")
        if diagnosis is not None:
            int(diagnosis.get("line") or 0)  # analyze reads it
        text = stderr.decode("utf-8", "replace")
        return cls(
            success=verdict == "ok" and not failed_tests(said),
            stdout=stdout.decode("utf-8", "replace"),
            stderr=text,
            exit_code=code,
            execution_time=seconds(timing.get("wall_ns")),
            timeout=late,
            error_message=message_of(said, text),
            container_id=str(said.get("run_id") or ""),
            language=language,
            timestamp=time_of(timing.get("started")),
            verdict=verdict,
            files={f["name"]: decode(f.get("content")) for f in said.get("files") or () if not f.get("blob")},
            blobs={f["name"]: Blob(str(f["blob"]), int(f.get("size") or 0), bool(f.get("executable"))) for f in said.get("files") or () if f.get("blob")},
            usage=ResourceUsage.of(said),
            stdout_bytes=stdout,
            stderr_bytes=stderr,
            diagnosis=diagnosis,
            network=None if said.get("network") is None else NetworkUsage.of(said["network"]),
            timeline=Timeline.of(said.get("timeline")),
            raw=said,
        )


def last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else ""


def message_of(said: Mapping[str, Any], stderr: str) -> Optional[str]:
    """One line about a failure; None if there was none."""
    verdict = said["verdict"]
    if verdict == "ok":
        return failed_tests(said) or None
    limits = said.get("limits") or {}
    denial = said.get("denial") or {}
    fixed = {
        "wall-limit": f"the time limit of {limits.get('wall', 'the run')} was exceeded",
        "cpu-limit": f"the processor time limit of {limits.get('cpu') or limits.get('wall', 'the run')} was exceeded",
        "memory-limit": f"the memory limit of {limits.get('memory', 'the run')} bytes was exceeded",
        "output-limit": f"more than {limits.get('output', 'allowed')} bytes of output",
        "denied": f"the system call {denial.get('syscall', '')} is forbidden",
        "signaled": f"killed by {said.get('signal_name') or 'a signal'}",
        "canceled": f"its session has ended: {ended}" if (ended := said.get("session_ended")) else "the run was canceled",
    }
    if verdict in fixed:
        return fixed[verdict]
    words = diagnosed(said) or last_line(stderr) or f"exited with code {said.get('exit_code')}"
    return words + refused_calls(said)


def refused_calls(said: Mapping[str, Any]) -> str:
    """The system calls that the profile refused, as the end of a line; empty if there were none."""
    calls = [f"{r.get('syscall')} x{r.get('count')}" for r in said.get("refused") or ()]
    return f" (refused by the profile: {', '.join(calls)})" if calls else ""


def diagnosed(said: Mapping[str, Any]) -> str:
    """The service's diagnosis in one line; empty if there is none."""
    diagnosis = said.get("diagnosis") or {}
    words = (diagnosis.get("type"), diagnosis.get("message"))
    return ": ".join(str(w) for w in words if w and w != said.get("verdict"))


def failed_tests(said: Mapping[str, Any]) -> str:
    """How many tests the program passed; empty if it passed all of them or had none."""
    tests = said.get("summary") or {}
    if tests.get("accepted") == tests.get("tests"):
        return ""
    first = tests.get("first_failed")
    return f"{tests.get('accepted')} of {tests.get('tests')} tests accepted" + (f", first failed: {first}" if first else "")


@dataclass(frozen=True)
class HistoryEntry:
    """One run in the history: either verdict or error_code is set.

    success means that the program ended well and passed all of its tests, if it had any;
    then error_message is empty. Otherwise error_message describes the failure in one line.
    """

    container_id: str  # the run's id, the same as run_id
    project: str
    task: str
    run: str  # the label
    language: str
    success: bool
    verdict: str
    error_code: str  # of a failure of the service itself
    error_message: str
    exit_code: int
    execution_time: float
    memory_bytes: Optional[int]
    timestamp: datetime
    raw: Dict[str, Any] = field(default_factory=dict, repr=False)

    @property
    def run_id(self) -> str:
        return self.container_id

    @classmethod
    @reading()
    def of(cls, said: Mapping[str, Any]) -> HistoryEntry:
        success = said.get("verdict") == "ok" and not failed_tests(said)
        message = said.get("message") or diagnosed(said) or failed_tests(said) or said.get("verdict") or said.get("code") or ""
        return cls(
            container_id=str(said.get("run_id") or ""),
            project=str(said.get("project") or ""),
            task=str(said.get("task") or ""),
            run=str(said.get("run") or ""),
            language=str(said.get("language") or ""),
            success=success,
            verdict=str(said.get("verdict") or ""),
            error_code=str(said.get("code") or ""),
            error_message="" if success else str(message),
            exit_code=int(said.get("exit_code") or 0),
            execution_time=seconds(said.get("wall_ns")),
            memory_bytes=said.get("memory_bytes"),
            timestamp=time_of(said.get("created")),
            raw=dict(said),
        )
