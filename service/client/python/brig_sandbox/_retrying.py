"""Decides whether and when a request is sent again. Nothing here waits."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from typing import Optional

from ._errors import InfraError

# Answers of a proxy whose service is away, or of a service that begins, ends or has no room.
AWAY = (502, 503, 504)

# The longest wait between two tries while a service is full or away: it is asked again soon after it is back.
_LONGEST = 5.0


@dataclass(frozen=True)
class Policy:
    """How patient a client is.

    retries:  how often a failed request is retried if that is safe
    patience: the longest wait between two tries, in seconds
    room:     the longest time that a request is retried while the service is full, in seconds
    away:     the longest time that many requests wait for a service that does not answer, in seconds
    many:     for requests of execute_many and grade_many: a service that is full or away is waited for
    until:    the moment of the monotonic clock at which such a request gives up; None: room and away alone count
    """

    retries: int = 3
    patience: float = 30
    room: float = 600
    away: float = 300
    many: bool = False
    until: Optional[float] = None

    def seconds(self, timeout: float, now: float) -> float:
        """The seconds that an answer may take. Raises InfraError (deadline) if the deadline has passed."""
        if self.until is None:
            return timeout
        if now >= self.until:
            raise InfraError("the deadline passed before it was sent: set a later deadline_seconds, or send less at a time", code="deadline", retry_safe=True)
        return min(timeout, self.until - now)

    def patient(self, until: Optional[float]) -> Policy:
        """The policy of one of many requests. A deadline replaces room and away."""
        return replace(self, many=True, until=until)


class Tries:
    """The tries of one request. now is always a moment of the monotonic clock."""

    def __init__(self, policy: Policy, now: float, *, stays: bool = False, harmless: bool = False) -> None:
        self._policy = policy
        self._stays = stays
        self._harmless = harmless
        self._began = now
        self._full = 0  # answers that the service is full
        self._failed = 0  # failures
        self._away_since: Optional[float] = None
        self._away = 0  # tries since then

    def again(self, e: InfraError) -> bool:
        """Whether the request can be sent again at all, such as to another address."""
        if e.code == "deadline":
            return False
        if e.retry_safe:
            return not self._stays or e.status in (0, 429, 503)
        return self._policy.many and self._harmless and (e.code == "gateway-gone" or e.status in AWAY)

    def wait(self, e: InfraError, now: float) -> Optional[float]:
        """Seconds until the next try; None: no further try. The message of e then says what to do about it."""
        if e.status == 429 and e.retry_safe:
            return self._for_room(e, now)
        if not self.again(e):
            return None
        if self._policy.many and (e.status in AWAY or e.code in ("gateway-unreachable", "gateway-gone")):
            return self._for_service(e, now)
        return self._after_failure(e, now)

    def _for_room(self, e: InfraError, now: float) -> Optional[float]:
        """A full service is not a failure: a program that sends too many requests at once is delayed."""
        policy = self._policy
        until = self._began + policy.room if policy.until is None else policy.until
        if policy.until is None and e.retry_after is not None and e.retry_after > policy.patience:
            return None
        # Requests that were refused at the same time should not be retried at the same time.
        wait: float = max(e.retry_after or 0.0, min(policy.patience, _LONGEST, 0.1 * 2.0 ** min(self._full, 10))) * random.uniform(1, 1.5)
        self._full += 1
        self._away_since = None
        if now + wait <= until:
            return wait
        if policy.until is not None:
            late(e, "full")
        elif policy.room > 0:
            cure = f"the service was full for {policy.room:g} s: use fewer threads, wait longer with CodeSandbox(room_timeout=...), or have the operator raise brig serve --queue"
            e.message = f"{e.message}: {cure}"
        return None

    def _for_service(self, e: InfraError, now: float) -> Optional[float]:
        """A service that is away for a while is waited for."""
        policy = self._policy
        if self._away_since is None:
            self._away_since, self._away = now, 0
        until = self._away_since + policy.away if policy.until is None else policy.until
        wait: float = max(e.retry_after or 0.0, min(policy.patience, _LONGEST, 0.1 * 2.0 ** min(self._away, 10)) * random.uniform(0.5, 1))
        self._away += 1
        if now + wait <= until:
            return wait
        if policy.until is not None:
            late(e, "away")
        else:
            e.message = f"{e.message}: the service was away for {now - self._away_since:.0f} s: CodeSandbox(away_timeout=...) waits longer"
        return None

    def _after_failure(self, e: InfraError, now: float) -> Optional[float]:
        policy = self._policy
        if self._failed >= policy.retries:
            return None
        wait = float(min(policy.patience, 0.1 * 2**self._failed) * random.uniform(0.5, 1))
        if e.retry_after is not None:
            if e.retry_after > policy.patience:
                return None
            wait = e.retry_after
        self._failed += 1
        if policy.until is not None and now + wait > policy.until:
            return None
        return wait


def late(e: InfraError, why: str) -> None:
    """Makes e the error of a request whose deadline has passed."""
    e.message = f"the deadline passed while the service was {why}: {e.message}: set a later deadline_seconds, or send less at a time"
