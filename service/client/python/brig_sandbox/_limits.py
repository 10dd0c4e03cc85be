"""The limits of a run, in the terms of containers."""

from __future__ import annotations

import re
import warnings
from dataclasses import dataclass
from typing import Any, Dict, Optional

MAX_TIMEOUT_SECONDS = 30

_UNITS = {"": 1, "b": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*(?:([kmgt]?)(?:i?b)?)", re.ASCII | re.IGNORECASE)


def parse_size(size: str) -> int:
    """Bytes of "512m", "1.5G" or "4096"; the units are powers of 1024."""
    if not isinstance(size, str):
        raise TypeError(f"size {size!r}: write a text with a unit, such as {_as_text(size)}")
    match = _SIZE.fullmatch(size.strip())
    if match is None:
        raise ValueError(f"size {size!r}: write a number with an optional k, m, g or t, such as 512m")
    return int(float(match.group(1)) * _UNITS[match.group(2).lower()])


def _as_text(size: object) -> str:
    """The text that was probably meant by a size that is a number: MiB if it is small, bytes if it is large."""
    if not isinstance(size, int) or isinstance(size, bool) or size <= 0:
        return '"512m"'
    return f'"{size}m"' if size < 1 << 20 else f'"{size}"'


def number(name: str, value: object) -> None:
    """Refuses a value that is not a number, such as "5"."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError(f"{name} is {value!r:.80}: write a number")


def span(seconds: float) -> str:
    """A time in the service's format."""
    number("a time in seconds", seconds)
    return f"{float(seconds):.6f}s"


@dataclass(frozen=True)
class ResourceLimits:
    """The limits of one run.

    memory_limit:    memory of all processes together, including the files that they write
    memory_swap:     memory and swap together; None: no swap
    cpu_quota:       processor time per cpu_period, in microseconds: 100000 of 100000 is one processor
    cpu_shares:      weight relative to other runs
    pids_limit:      processes and threads together
    timeout_seconds: of running, not of waiting for a slot; more than 30 becomes 30, with a warning
    """

    memory_limit: str = "512m"
    memory_swap: Optional[str] = None
    cpu_quota: int = 100000
    cpu_period: int = 100000
    cpu_shares: int = 1024
    pids_limit: int = 100
    timeout_seconds: float = 30

    def __post_init__(self) -> None:
        for name in ("cpu_quota", "cpu_period", "cpu_shares", "pids_limit", "timeout_seconds"):
            number(name, getattr(self, name))
        for name, size in (("memory_limit", self.memory_limit), ("memory_swap", self.memory_swap)):
            if size is not None and not isinstance(size, str):
                raise TypeError(f"{name} is {size!r:.80}: write a text with a unit, such as {_as_text(size)}")
        if self.timeout_seconds > MAX_TIMEOUT_SECONDS:
            warnings.warn(
                f"timeout_seconds={self.timeout_seconds} is more than {MAX_TIMEOUT_SECONDS}: using {MAX_TIMEOUT_SECONDS}",
                UserWarning,
                stacklevel=3,
            )
            object.__setattr__(self, "timeout_seconds", MAX_TIMEOUT_SECONDS)
        for name in ("cpu_quota", "cpu_period", "cpu_shares", "pids_limit", "timeout_seconds"):
            if not getattr(self, name) > 0:
                raise ValueError(f"{name} is {getattr(self, name)!r}: it must be positive")
        if self._swap() < 0:
            raise ValueError(f"memory_swap={self.memory_swap!r} is less than memory_limit={self.memory_limit!r}: it is the sum of memory and swap")

    def _swap(self) -> int:
        memory = parse_size(self.memory_limit)
        return 0 if self.memory_swap is None else parse_size(self.memory_swap) - memory

    def to_api(self) -> Dict[str, Any]:
        """The limits in the service's format."""
        limits: Dict[str, Any] = {
            "memory": parse_size(self.memory_limit),
            "cpus": self.cpu_quota / self.cpu_period,
            "weight": self.cpu_shares,
            "pids": self.pids_limit,
            "wall": span(self.timeout_seconds),
        }
        if self._swap() > 0:
            limits["swap"] = self._swap()
        return limits


def check_limits(limits: object) -> None:
    """Raises TypeError for limits of another type; None is no limits."""
    if limits is not None and not isinstance(limits, ResourceLimits):
        raise TypeError(f'limits must be ResourceLimits, such as ResourceLimits(memory_limit="256m", timeout_seconds=5), not {limits!r:.80}')
