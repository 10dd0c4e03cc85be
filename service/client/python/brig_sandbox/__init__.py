"""Runs untrusted code through a brig service (``brig serve``).

    from brig_sandbox import CodeSandbox, ResourceLimits

    box = CodeSandbox(ResourceLimits(memory_limit="256m", timeout_seconds=5))
    result = box.execute("print(2 + 2)")
    print(result.success, result.stdout)

The outcome of a program is always an ExecutionResult, however it ended. If there
is no result, the client raises InfraError if the service failed, RequestError if it
refused the request.
"""

from ._analysis import ErrorAnalysis
from ._batch import Job, JobResult
from ._errors import InfraError, RequestError, SandboxError
from ._following import BatchProgress
from ._grading import Case, CaseResult, Grade
from ._limits import MAX_TIMEOUT_SECONDS, ResourceLimits
from ._network import NetworkHost, NetworkRefusal, NetworkUsage
from ._problems import StoredProblem, Verification
from ._report import DebugReport
from ._result import ExecutionResult, HistoryEntry, ResourceUsage, Timeline
from ._sandbox import CodeSandbox
from ._session import FileInfo, FileList, Session, SessionUsage, Volume
from ._version import __version__

__all__ = [
    "BatchProgress",
    "Case",
    "CaseResult",
    "CodeSandbox",
    "DebugReport",
    "ErrorAnalysis",
    "ExecutionResult",
    "FileInfo",
    "FileList",
    "Grade",
    "HistoryEntry",
    "InfraError",
    "Job",
    "JobResult",
    "MAX_TIMEOUT_SECONDS",
    "NetworkHost",
    "NetworkRefusal",
    "NetworkUsage",
    "RequestError",
    "ResourceLimits",
    "ResourceUsage",
    "SandboxError",
    "Session",
    "SessionUsage",
    "StoredProblem",
    "Timeline",
    "Verification",
    "Volume",
    "__version__",
]
