"""The run that a process belongs to, and what the end of a run has ended."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any, Mapping, Sequence, Union

from ._errors import InfraError, SandboxError, reading


def run_label(env: Mapping[str, str] = os.environ) -> str:
    """The run that the environment says, as brig itself takes it; "": none."""
    array, task = env.get("SLURM_ARRAY_JOB_ID"), env.get("SLURM_ARRAY_TASK_ID")
    return env.get("BRIG_RUN") or (f"{array}_{task}" if array and task else env.get("SLURM_JOB_ID") or "")


@dataclass(frozen=True)
class Ended:
    """How much the end of a run has ended."""

    runs: int = 0  # their verdict is canceled
    sessions: int = 0
    batches: int = 0  # canceled; their results so far stay
    volumes: int = 0  # temporary ones, removed with their content

    @property
    def total(self) -> int:
        return self.runs + self.sessions + self.batches + self.volumes

    @classmethod
    @reading()
    def of(cls, said: Any) -> Ended:
        if not isinstance(said, Mapping):
            raise InfraError("the answer has no numbers: is this a brig service?", code="bad-answer")
        return cls(int(said["runs"]), int(said["sessions"]), int(said["batches"]), int(said["volumes"]))


def all_of(said: Sequence[Union[Ended, SandboxError]]) -> Ended:
    """What was ended at all addresses together. If some failed, their errors are raised: the first, with others."""
    failed = [one for one in said if isinstance(one, SandboxError)]
    if failed:
        failed[0].others = failed[1:]
        raise failed[0]
    parts = [one for one in said if isinstance(one, Ended)]
    return Ended(sum(e.runs for e in parts), sum(e.sessions for e in parts), sum(e.batches for e in parts), sum(e.volumes for e in parts))
