"""How a batch is followed, over as many connections as it needs. Only follow() sends, and waits."""

from __future__ import annotations

import http.client
import json
import logging
import ssl
import sys
import time
from dataclasses import dataclass
from typing import Any, Callable, Dict, Iterator, Mapping, Optional, Tuple, Union

from ._addresses import Address
from ._errors import InfraError, RequestError, SandboxError
from ._http import Transport
from ._phases import CONNECT, JUDGE, SEND
from ._request import LINES, Request
from ._retrying import AWAY, Policy, Tries, late

_log = logging.getLogger("brig_sandbox")

# The service sends a sign of life every 15 seconds.
SILENCE = 90.0


@dataclass(frozen=True)
class BatchProgress:
    """How far a batch is, for a progress function.

    batch_id: empty until the service has answered
    phase:    connect (no connection), send (the jobs are sent), judge (results are awaited)
    jobs:     of the batch; 0: not known, as this process did not begin the batch
    results:  jobs that have a result
    failed:   those of them that were not judged
    seconds:  since the call began
    away:     seconds since the service was last heard of; 0.0 while it is there
    """

    batch_id: str
    phase: str
    jobs: int
    results: int
    failed: int
    seconds: float
    away: float

    def __str__(self) -> str:
        of = f" of {self.jobs}" if self.jobs else ""
        failed = f", {self.failed} not judged" if self.failed else ""
        away = f"; the service is away since {self.away:.0f} s" if self.away else ""
        return f"brig: {self.results}{of} jobs{failed}, {self.seconds:.0f} s{away}"


Progress = Union[bool, Callable[[BatchProgress], None], None]


def printed() -> Callable[[BatchProgress], None]:
    """A progress function that prints to stderr: a line that moves on a terminal, otherwise a line every ten seconds."""
    moves = sys.stderr.isatty()
    last = float("-inf")

    def show(now: BatchProgress) -> None:
        nonlocal last
        ended = now.jobs > 0 and now.results == now.jobs
        if not ended and now.seconds - last < (0.2 if moves else 10):
            return
        last = now.seconds
        if moves:
            print(f"\r\x1b[K{now}", end="\n" if ended else "", file=sys.stderr, flush=True)
        else:
            print(now, file=sys.stderr, flush=True)

    return show


class Following:
    """The state of one batch that is followed at one address, and what to do next."""

    def __init__(self, address: Address, policy: Policy, body: Optional[bytes], key: str, jobs: int, progress: Progress, location: str = "") -> None:
        """body has the jobs, and key finds their batch again; without body the batch is at location."""
        self.ended = False
        self.phase = CONNECT
        self._address = address
        self._policy = policy
        self._body = body
        self._key = key
        self._jobs = jobs
        self._progress = printed() if progress is True else progress or None
        self._location = location  # of the batch, once lines are asked for by their number
        self._answered_at = ""
        self._skip = 0  # lines to come that were read already
        self._began = time.monotonic()
        self._heard = self._began  # when the last line came
        self._failures = 0  # since then
        self._full = Tries(policy, self._began)
        self._got = 0
        self._failed = 0
        self._id = location.rsplit("/", 1)[-1]

    @property
    def silence(self) -> float:
        """Seconds without a byte after which a connection has broken."""
        until = self._policy.until
        return SILENCE if until is None else min(SILENCE, max(0.001, until - time.monotonic()))

    def request(self) -> Tuple[Request, Mapping[str, str]]:
        """The request for the lines that are missing, and its additional headers. There is a connection."""
        if self._location:
            self.phase, self._skip = JUDGE, 0
            return Request("GET", f"{self._location}/results?after={self._got}&follow=true", None, LINES), {}
        self.phase, self._skip = SEND, self._got  # the same batch sends all of its results again
        return Request("POST", "/v1/batches?wait=true", self._body, LINES), {"Idempotency-Key": self._key}

    def answered(self, location: Optional[str]) -> None:
        """The answer has begun, and names the batch."""
        self.phase = JUDGE
        if location:
            self._answered_at = location
            self._id = location.rsplit("/", 1)[-1]

    def take(self, line: bytes) -> Optional[Dict[str, Any]]:
        """The result in a line of the answer; None if it has none."""
        if not line.endswith(b"\n"):
            raise http.client.IncompleteRead(line)
        self._heard, self._failures = time.monotonic(), 0
        if not line.strip():
            self._show()
            self._check_deadline()
            return None
        try:
            said = json.loads(line)
        except (ValueError, RecursionError, MemoryError) as e:
            raise InfraError("a line of the answer is not JSON: is this a brig service?", code="bad-answer") from e
        if not isinstance(said, dict):
            raise InfraError("a line of the answer is no object: is this a brig service?", code="bad-answer")
        if said.get("end") is True:
            self.ended = True
            self._check_end(said)
            return None
        if self._skip > 0:
            self._skip -= 1
            return None
        self._check_deadline()
        self._got += 1
        self._failed += said.get("status") != "done"
        self._show()
        return said

    def cut(self) -> None:
        """The answer has ended. Raises if lines are missing."""
        if not self.ended:
            self._location = self._location or self._answered_at
            raise http.client.IncompleteRead(b"")

    def failed(self, e: Exception) -> float:
        """Seconds until the next try after a failure. Raises it once there is no further try."""
        if self.ended:  # it is the error of the batch itself
            raise e
        if isinstance(e, ssl.SSLCertVerificationError):
            cure = "set SSL_CERT_FILE to it, or pass ssl_context"
            raise self._named(InfraError(f"the certificate of {self._address} is not trusted: {e}: {cure}", code="gateway-unreachable")) from e
        if isinstance(e, RequestError):
            raise self._named(e)
        if isinstance(e, InfraError):
            if e.status == 429 and e.retry_safe:
                wait = self._full.wait(e, time.monotonic())
                if wait is None:
                    raise self._named(e)
                return wait
            if e.code == "deadline" or not (e.status in AWAY or e.retry_safe):
                raise self._named(e)
            return self._away(str(e), e)
        self._check_deadline(e)
        return self._away(repr(e), e)

    def _away(self, why: str, cause: Exception) -> float:
        """Seconds until the next try. Raises once the service has been away for too long."""
        now = time.monotonic()
        away = now - self._heard
        wait = max(0.05, min(self._policy.patience, 5.0, 0.2 * 2.0 ** min(self._failures, 10)))
        until = self._policy.until
        if away + wait > self._policy.away if until is None else now + wait > until:
            code = "gateway-unreachable" if self.phase == CONNECT else "gateway-gone"
            error = InfraError(f"{self._address} was away for {away:.0f} s: {why}: is brig serve running? CodeSandbox(away_timeout=...) waits longer", code=code, retry_safe=True)
            if until is not None:
                error = InfraError(f"{self._address}: {why}", code=code, retry_safe=True)
                late(error, "away")
            raise self._named(error) from cause

        if self._failures == 0:
            _log.warning("%s is away (%s): trying for %g s", self._address, why, self._policy.away if until is None else until - now)
        self._failures += 1
        self._show()
        return wait

    def _check_deadline(self, cause: Optional[Exception] = None) -> None:
        until = self._policy.until
        if until is not None and time.monotonic() >= until:
            again = "attach(batch_id) reads the rest later" if self._id else "call it again with a later deadline_seconds"
            raise self._named(InfraError(f"the deadline passed: {again}", code="deadline", retry_safe=True)) from cause

    def _named(self, e: SandboxError) -> SandboxError:
        """The error with its phase and its batch."""
        if e.batch_id or e.message.startswith("while "):
            return e
        doing = {CONNECT: "connecting", SEND: f"sending {self._jobs} jobs", JUDGE: "waiting for results"}[self.phase]
        of = f" of {self._jobs}" if self._jobs else ""
        batch = f", batch {self._id}" if self._id else ""
        e.message = f"while {doing} ({self._got}{of} results{batch}): {e.message}"
        if isinstance(e, RequestError) or e.status == 0:
            e.phase = self.phase
        e.batch_id = self._id
        return e

    def _show(self) -> None:
        if self._progress is None:
            return
        now = time.monotonic()
        away = now - self._heard if self._failures else 0.0
        self._progress(BatchProgress(self._id, self.phase, self._jobs, self._got, self._failed, now - self._began, away))

    def _check_end(self, said: Dict[str, Any]) -> None:
        """Raises the error of a batch that did not take all jobs."""
        error = said.get("error")
        if isinstance(error, dict):
            kind = InfraError if error.get("retry_safe") is True else RequestError
            self.phase = SEND
            raise self._named(kind(f"not all jobs were taken: {error.get('message')}", code=str(error.get("code") or "bad-answer"), retry_safe=error.get("retry_safe") is True))


def follow(transport: Transport, state: Following, address: Address) -> Iterator[Dict[str, Any]]:
    """Yields the line of each result once. A connection that breaks is made again."""
    while not state.ended:
        try:
            with transport.opened(address, state.silence) as connection:
                state.phase = CONNECT
                connection.connect()
                request, headers = state.request()
                response = transport.asked(address, connection, request, headers)
                state.answered(response.getheader("Location"))
                for line in response:
                    said = state.take(line)
                    if said is not None:
                        yield said
                    if state.ended:
                        return
                state.cut()
        except (OSError, http.client.HTTPException, SandboxError) as e:
            time.sleep(state.failed(e))
