"""The errors of brig. A program that fails is never an exception."""

from __future__ import annotations

from contextlib import contextmanager
from typing import Iterator, List, Optional

from ._phases import phase_of


class SandboxError(Exception):
    """brig returned no result.

    code is stable and for programs ("busy", "agent-unreachable", ...); the text is for
    people. retry_safe says that the same request can be sent again: it had no effect.

    phase says how far the request came: connect (nothing was sent), send (the jobs of a batch),
    queue, image, set-up, copy-in, compile, run, checker, copy-out, or judge: it was sent, and it
    is not known how far it came. It is empty only for a request that the service refused as such.
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
        told_phase: object = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        self.status = status  # of HTTP; 0: no answer came
        self.retry_safe = retry_safe
        self.retry_after = retry_after  # seconds that the service asked to wait; None if it did not
        self.run_id = run_id  # empty: no run was started
        self.session_id = session_id  # for a conflict: the existing session

        self.phase = phase_of(code, status, told_phase)
        self.batch_id = ""  # only for batches: its id, if the service gave one

        self.index: Optional[int] = None  # only for execute_many: the item's position
        self.others: List[SandboxError] = []  # the errors of execute_many's later items, or of end_run's other addresses

    def __str__(self) -> str:
        return f"{self.message} [{self.code}]"


class InfraError(SandboxError):
    """The service failed, was too busy or did not answer. The program was not judged."""


class RequestError(SandboxError):
    """The service refused the request. The caller has to fix it."""


@contextmanager
def reading() -> Iterator[None]:
    """Turns errors from reading an answer in an unknown form into an InfraError."""
    try:
        yield
    except (ArithmeticError, AttributeError, LookupError, MemoryError, RecursionError, TypeError, ValueError) as e:
        raise InfraError(f"the answer has an unknown form ({type(e).__name__}): is this a brig service?", code="bad-answer") from e
