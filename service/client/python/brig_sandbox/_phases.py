"""The phases of a request, for errors."""

from __future__ import annotations

# Before the service has the request, and after it: what is known if the service itself told nothing.
CONNECT = "connect"  # no connection: nothing was sent
SEND = "send"  # the jobs of a batch were being sent
JUDGE = "judge"  # sent; the service did not answer, so it is not known how far it came

# The phases of the service.
QUEUE = "queue"
IMAGE = "image"
SET_UP = "set-up"
COPY_IN = "copy-in"
COMPILE = "compile"
RUN = "run"
CHECKER = "checker"
COPY_OUT = "copy-out"

ALL = (CONNECT, SEND, QUEUE, IMAGE, SET_UP, COPY_IN, COMPILE, RUN, CHECKER, COPY_OUT, JUDGE)

# The phase of each code that comes from one phase alone.
_OF_CODE = {
    "busy": QUEUE,
    "queue-full": QUEUE,
    "key-queue-full": QUEUE,
    "waited-too-long": QUEUE,
    "session-busy": QUEUE,
    "sessions-full": QUEUE,
    "batches-full": QUEUE,
    "too-many-connections": QUEUE,
    "too-many-bodies": QUEUE,
    "stopping": QUEUE,
    "canceled": QUEUE,
    "deadline": QUEUE,
    "unknown-image": IMAGE,
    "bad-image": IMAGE,
    "image-damaged": IMAGE,
    "packages-failed": IMAGE,
    "packages-missing": IMAGE,
    "set-up-timeout": SET_UP,
    "memory-committed": SET_UP,
    "host-exhausted": SET_UP,
    "agent-unreachable": SET_UP,
    "bad-volume": SET_UP,
    "unsupported": SET_UP,
    "bad-file": COPY_IN,
    "unknown-blob": COPY_IN,
    "too-large": COPY_IN,
    "no-space": COPY_IN,
    "file-denied": COPY_IN,
    "file-conflict": COPY_IN,
    "program-not-found": RUN,
    "program-not-executable": RUN,
    "host-memory": RUN,
    "agent-gone": RUN,
    "poison": RUN,
    "check-failed": CHECKER,
    "bad-answer": COPY_OUT,
    "gateway-unreachable": CONNECT,
    "gateway-gone": JUDGE,
    "gateway-timeout": JUDGE,
}


def phase_of(code: str, status: int, told: object = None) -> str:
    """The phase in which a failure came: what the service told, else what its code says.

    A failure inside the service that says no more came somewhere between the queue and the answer:
    judge. A refusal that says no more is of no phase: the request itself is wrong.
    """
    if isinstance(told, str) and told in ALL:
        return told
    known = _OF_CODE.get(code)
    if known is not None:
        return known
    if 400 <= status < 500 and status != 429:
        return ""
    return QUEUE if status in (429, 503) else JUDGE
