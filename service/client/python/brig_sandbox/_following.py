"""The lines of one batch, over as many connections as they need."""

from __future__ import annotations

import http.client
import json
import logging
import ssl
import sys
import time
from dataclasses import dataclass
from typing import Any, Callable, Dict, Iterator, Optional, Union

from ._errors import InfraError, RequestError, SandboxError
from ._http import Transport

_log = logging.getLogger("brig_sandbox")

# The service sends a sign of life every 15 seconds.
_SILENCE = 90.0

# Answers of a proxy whose service is away, or of a service that begins or ends.
_AWAY = (502, 503, 504)


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
    """Reads the results of one batch. A connection that breaks is made again, for as long as the service may be away."""

    def __init__(self, transport: Transport, jobs: int, progress: Progress) -> None:
        self._transport = transport
        self._jobs = jobs
        self._progress = printed() if progress is True else progress or None
        self._began = time.monotonic()
        self._heard = self._began  # when the last line came
        self._failures = 0  # since then
        self._phase = "connect"
        self._got = 0
        self._failed = 0
        self._id = ""

    def lines(self, body: Optional[bytes], key: str, location: str = "") -> Iterator[Dict[str, Any]]:
        """Yields the line of each result once: of the jobs in body, or without one of the batch at location."""
        full, until = 0, time.monotonic() + self._transport.room
        self._remember(location)
        end: Optional[Dict[str, Any]] = None
        while end is None:
            try:
                with self._transport.opened(_SILENCE) as connection:
                    self._phase = "connect"
                    connection.connect()
                    if location:
                        self._phase = "judge"
                        response = self._transport.asked(connection, "GET", f"{location}/results?after={self._got}&follow=true", None, {})
                        skip = 0
                    else:
                        self._phase = "send"
                        response = self._transport.asked(connection, "POST", "/v1/batches?wait=true", body, {"Content-Type": "application/x-ndjson", "Idempotency-Key": key})
                        skip = self._got  # the same batch sends all of its results again

                    self._phase = "judge"
                    self._remember(response.getheader("Location") or "")
                    for line in response:
                        said = self._read(line)
                        if said is None:
                            continue
                        if said.get("end") is True:
                            end = said
                            break
                        if skip > 0:
                            skip -= 1
                            continue
                        self._got += 1
                        self._failed += said.get("status") != "done"
                        self._show()
                        yield said

                    if end is None:
                        location = location or response.getheader("Location") or ""
                        raise http.client.IncompleteRead(b"")
            except ssl.SSLCertVerificationError as e:
                raise self._named(InfraError(f"the certificate of {self._transport.url} is not trusted: {e}: set SSL_CERT_FILE to it, or pass ssl_context", code="gateway-unreachable")) from e
            except (OSError, http.client.HTTPException) as e:
                self._wait_for_service(repr(e), e)
            except InfraError as e:
                if e.status == 429 and e.retry_safe:
                    wait = self._transport.wait_for_room(e, full, until)
                    full += 1
                    if wait is None:
                        raise self._named(e)
                    time.sleep(wait)
                elif e.status in _AWAY or e.retry_safe:
                    self._wait_for_service(str(e), e)
                else:
                    raise self._named(e)
            except RequestError as e:
                raise self._named(e)
        self._check_end(end)

    def _read(self, line: bytes) -> Optional[Dict[str, Any]]:
        """The object in a line; None for a sign of life."""
        if not line.endswith(b"\n"):
            raise http.client.IncompleteRead(line)
        self._heard, self._failures = time.monotonic(), 0
        if not line.strip():
            self._show()
            return None
        try:
            said = json.loads(line)
        except (ValueError, RecursionError, MemoryError) as e:
            raise InfraError("a line of the answer is not JSON: is this a brig service?", code="bad-answer") from e
        if not isinstance(said, dict):
            raise InfraError("a line of the answer is no object: is this a brig service?", code="bad-answer")
        return said

    def _wait_for_service(self, why: str, cause: Exception) -> None:
        """Waits before the next try, and raises once the service has been away for too long."""
        away = time.monotonic() - self._heard
        wait = max(0.05, min(self._transport.patience, 5.0, 0.2 * 2.0 ** min(self._failures, 10)))
        if away + wait > self._transport.away:
            code = "gateway-unreachable" if self._phase == "connect" else "gateway-gone"
            message = f"{self._transport.url} was away for {away:.0f} s: {why}: is brig serve running? CodeSandbox(away_timeout=...) waits longer"
            raise self._named(InfraError(message, code=code, retry_safe=True)) from cause

        if self._failures == 0:
            _log.warning("%s is away (%s): trying for %g s", self._transport.url, why, self._transport.away)
        self._failures += 1
        self._show()
        time.sleep(wait)

    def _named(self, e: SandboxError) -> SandboxError:
        """The error with its phase and its batch."""
        doing = {"connect": "connecting", "send": f"sending {self._jobs} jobs", "judge": "waiting for results"}[self._phase]
        of = f" of {self._jobs}" if self._jobs else ""
        batch = f", batch {self._id}" if self._id else ""
        e.message = f"while {doing} ({self._got}{of} results{batch}): {e.message}"
        e.phase, e.batch_id = self._phase, self._id
        return e

    def _remember(self, location: str) -> None:
        if location:
            self._id = location.rsplit("/", 1)[-1]

    def _show(self) -> None:
        if self._progress is None:
            return
        now = time.monotonic()
        away = now - self._heard if self._failures else 0.0
        self._progress(BatchProgress(self._id, self._phase, self._jobs, self._got, self._failed, now - self._began, away))

    def _check_end(self, said: Dict[str, Any]) -> None:
        """Raises the error of a batch that did not take all jobs."""
        error = said.get("error")
        if isinstance(error, dict):
            kind = InfraError if error.get("retry_safe") is True else RequestError
            self._phase = "send"
            raise self._named(kind(f"not all jobs were taken: {error.get('message')}", code=str(error.get("code") or "bad-answer"), retry_safe=error.get("retry_safe") is True))
