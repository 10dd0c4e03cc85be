"""What brig could not do. A program that fails is never an exception."""

from __future__ import annotations

from contextlib import contextmanager
from typing import Iterator, List, Optional


class SandboxError(Exception):
    """Brig gave no result.

    code is stable and for programs ("busy", "agent-unreachable", ...), the text is for
    people. retry_safe says that the same request may be sent again: it left nothing.
    """

    def __init__(
        self,
        message: str,
        *,
        code: str,
        status: int = 0,
        retry_safe: bool = False,
        retry_after: Optional[float] = None,
        run_id: str = "",
        session_id: str = "",
    ) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        self.status = status  # of HTTP; 0: no answer came
        self.retry_safe = retry_safe
        self.retry_after = retry_after  # seconds the service asked to wait, if it did
        self.run_id = run_id  # empty: no run was begun
        self.session_id = session_id  # of a conflict: the session that is in the way

        # Of execute_many: the item's position, and the errors of later items.
        self.index: Optional[int] = None
        self.others: List[SandboxError] = []

    def __str__(self) -> str:
        return f"{self.message} [{self.code}]"


class InfraError(SandboxError):
    """The service failed, was too busy or did not answer. The program was not judged."""


class RequestError(SandboxError):
    """The service refused the request, which is the caller's to mend."""


@contextmanager
def reading() -> Iterator[None]:
    """What is met in an answer of another form than the service's becomes an InfraError."""
    try:
        yield
    except (ArithmeticError, AttributeError, LookupError, MemoryError, RecursionError, TypeError, ValueError) as e:
        raise InfraError(f"the service answers in a form that is not known ({type(e).__name__}): is it a brig service?", code="bad-answer") from e
