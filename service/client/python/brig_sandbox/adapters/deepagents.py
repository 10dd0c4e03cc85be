"""brig as a backend of LangChain's deepagents: create_deep_agent(backend=BrigBackend(box.create_session())).

ls, read, write, edit, grep and glob come from BaseSandbox, which needs python3 in the image.
"""

from __future__ import annotations

from typing import List, Optional, Tuple

from deepagents.backends.protocol import ExecuteResponse, FileDownloadResponse, FileUploadResponse
from deepagents.backends.sandbox import BaseSandbox

from .._errors import RequestError
from .._session import Session
from . import _shell, _sync_shell

_LARGEST = 64 << 20  # bytes of a file that is downloaded


class BrigBackend(BaseSandbox):
    """A session as the backend of an agent. Who made the session ends it.

    A failure of brig is raised (InfraError), and never the output of a command.
    """

    def __init__(self, session: Session, *, timeout_seconds: Optional[float] = None) -> None:
        """timeout_seconds: of a command that has none; None: the session's."""
        self.session = session
        self._timeout = timeout_seconds

    @property
    def id(self) -> str:
        return self.session.id

    def execute(self, command: str, *, timeout: Optional[int] = None) -> ExecuteResponse:
        """Executes a command line of the shell. stdout and stderr are one stream, as they were written."""
        line = "exec 2>&1\n" + command
        words = ["sh", "-c", line]
        if _shell.is_long(words, None):
            name = _shell.spare()
            self.session.put_file(name, _shell.script(name, line))
            words = ["sh", "/box/" + name]
        seconds = timeout if timeout is not None else self._timeout
        try:
            result = self.session.run(words, timeout_seconds=seconds)
        except RequestError as e:
            if not _shell.above_ceiling(e, seconds):
                raise
            result = self.session.run(words)
        output = result.stdout + _shell.outcome(result)
        cut = result.raw.get("stdout_truncated") is True or result.verdict == "output-limit"
        return ExecuteResponse(output=output, exit_code=result.exit_code, truncated=cut)

    def upload_files(self, files: List[Tuple[str, bytes]]) -> List[FileUploadResponse]:
        """Writes files, and makes their directories. What fails is in the answer of its file."""
        return [FileUploadResponse(path=path, error=self._upload(path, content)) for path, content in files]

    def _upload(self, path: str, content: bytes) -> Optional[str]:
        try:
            _sync_shell.write(self.session, path, content)
        except (OSError, RequestError, ValueError) as e:
            return _said(e)
        return None

    def download_files(self, paths: List[str]) -> List[FileDownloadResponse]:
        """Reads files. What fails is in the answer of its file."""
        return [self._download(path) for path in paths]

    def _download(self, path: str) -> FileDownloadResponse:
        try:
            return FileDownloadResponse(path=path, content=_sync_shell.read(self.session, path, _LARGEST), error=None)
        except _shell.TooLarge:
            return FileDownloadResponse(path=path, content=None, error=f"the file has more than {_LARGEST >> 20} MiB")
        except (OSError, RequestError, ValueError) as e:
            return FileDownloadResponse(path=path, content=None, error=_said(e))


def _said(e: Exception) -> str:
    """The name that deepagents has for an error, or its text."""
    if isinstance(e, RequestError) and e.status in (404, 410):
        raise e  # the session has ended: no file can be written or read
    if isinstance(e, FileNotFoundError):
        return "file_not_found"
    if isinstance(e, PermissionError):
        return "permission_denied"
    if isinstance(e, IsADirectoryError):
        return "is_directory"
    if isinstance(e, (NotADirectoryError, ValueError)):
        return "invalid_path"
    return str(e)
