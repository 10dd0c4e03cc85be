"""What the synchronous and the asynchronous client have in common."""

from __future__ import annotations

import os
import ssl
from typing import Any, Dict, List, Optional

from ._addresses import DEFAULT_URL, Address, Url, addresses_of
from ._analysis import ErrorAnalysis, analyze
from ._checks import check
from ._ended import run_label
from ._errors import InfraError, RequestError
from ._limits import ResourceLimits, check_limits
from ._result import ExecutionResult
from ._retrying import Policy
from ._runs import Runs


class Client(Runs):
    """The settings of a client.

    default_limits: limits of runs that set none; None: the service's defaults
    url:            http://host:port, https://host or unix:///path; a list of them, or a text of several
                    with commas: each request goes where the fewest are under way, and to another
                    if one does not answer; None: $BRIG_URL, or http://127.0.0.1:8080
    api_key:        the bearer key, the same for all addresses; None: $BRIG_API_KEY, or none
    project, task:  labels of the runs in the history
    run:            label of all that this client begins, by which end_run ends it; None: $BRIG_RUN, or the job of
                    Slurm (SLURM_ARRAY_JOB_ID and SLURM_ARRAY_TASK_ID, or SLURM_JOB_ID), or none; "": none
    retries:        how often a failed request is retried if that is safe
    patience:       the longest wait between two tries, in seconds; if the service asks for more, there is no retry
    room_timeout:   for how many seconds a request is retried while the service is full; 0: no retry
    away_timeout:   for how many seconds execute_many and a batch wait for a service that does not answer, or restarts
    answer_timeout: seconds to wait for a complete answer, including the time that a run waits for a slot
    """

    def __init__(
        self,
        default_limits: Optional[ResourceLimits] = None,
        *,
        url: Optional[Url] = None,
        api_key: Optional[str] = None,
        project: str = "",
        task: str = "",
        run: Optional[str] = None,
        retries: int = 3,
        patience: float = 30,
        room_timeout: float = 600,
        away_timeout: float = 300,
        answer_timeout: float = 300,
        ssl_context: Optional[ssl.SSLContext] = None,
    ) -> None:
        if isinstance(default_limits, str):
            raise TypeError("default_limits must be ResourceLimits: to use another service write CodeSandbox(url=...)")
        check_limits(default_limits)
        check(api_key=api_key, project=project, task=task, run=run, retries=retries, patience=patience)
        check(room_timeout=room_timeout, away_timeout=away_timeout, answer_timeout=answer_timeout)
        if ssl_context is not None and not isinstance(ssl_context, ssl.SSLContext):
            raise TypeError(f"ssl_context is {ssl_context!r:.80}: write an ssl.SSLContext, such as ssl.create_default_context(cafile=...)")
        self.default_limits = default_limits
        self.project = project
        self.task = task
        self.run = run_label() if run is None else run
        self._connect(
            addresses_of(url or os.environ.get("BRIG_URL") or DEFAULT_URL),
            api_key or os.environ.get("BRIG_API_KEY") or None,
            timeout=answer_timeout,
            policy=Policy(retries=retries, patience=patience, room=room_timeout, away=away_timeout),
            context=ssl_context,
        )

    def _connect(self, addresses: List[Address], key: Optional[str], *, timeout: float, policy: Policy, context: Optional[ssl.SSLContext]) -> None:
        """Makes the transport. Nothing is sent."""
        raise NotImplementedError


def explained(said: Any, run_id: str) -> ErrorAnalysis:
    """The error of an earlier run, from the service's record of it."""
    run: Dict[str, Any] = said if isinstance(said, dict) else {}
    if isinstance(run.get("error"), dict):
        raise InfraError(str(run["error"].get("detail") or "the run has no verdict"), code=str(run["error"].get("code") or "internal"), run_id=run_id)
    if run.get("state") in ("queued", "running"):
        raise RequestError(f"run {run_id} is {run['state']}: try again when it is done", code="not-done", run_id=run_id)
    return analyze(ExecutionResult.of(run.get("result"), ""))
