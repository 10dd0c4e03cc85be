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
from ._async_kernel import AsyncKernel
from ._async_process import AsyncProcess
from ._async_sandbox import AsyncCodeSandbox
from ._async_session import AsyncSession
from ._batch import Job, JobResult
from ._ended import Ended
from ._errors import InfraError, RequestError, SandboxError
from ._following import BatchProgress
from ._grading import Case, CaseResult, Grade
from ._kernel import CellError, CellResult, Display, Kernel
from ._limits import MAX_TIMEOUT_SECONDS, ResourceLimits
from ._links import LinkedRun, RunLink
from ._many import ManyProgress
from ._network import NetworkHost, NetworkRefusal, NetworkUsage
from ._problems import StoredProblem, Verification
from ._process import Process, ProcessOutput, ProcessPiece
from ._rejudges import Rejudge, RejudgeChange
from ._report import DebugReport
from ._result import Blob, ExecutionResult, HistoryEntry, ResourceUsage, Timeline
from ._sandbox import CodeSandbox
from ._session import FileInfo, FileList, Session, SessionUsage, Volume
from ._snapshots import PathChange, Snapshot
from ._version import __version__

__all__ = [
    "AsyncCodeSandbox",
    "AsyncKernel",
    "AsyncProcess",
    "AsyncSession",
    "BatchProgress",
    "Blob",
    "Case",
    "CaseResult",
    "CellError",
    "CellResult",
    "CodeSandbox",
    "DebugReport",
    "Display",
    "Ended",
    "ErrorAnalysis",
    "ExecutionResult",
    "FileInfo",
    "FileList",
    "Grade",
    "HistoryEntry",
    "InfraError",
    "Job",
    "JobResult",
    "Kernel",
    "LinkedRun",
    "MAX_TIMEOUT_SECONDS",
    "ManyProgress",
    "NetworkHost",
    "NetworkRefusal",
    "NetworkUsage",
    "PathChange",
    "Process",
    "ProcessOutput",
    "ProcessPiece",
    "Rejudge",
    "RejudgeChange",
    "RequestError",
    "ResourceLimits",
    "ResourceUsage",
    "RunLink",
    "SandboxError",
    "Session",
    "SessionUsage",
    "Snapshot",
    "StoredProblem",
    "Timeline",
    "Verification",
    "Volume",
    "__version__",
]
