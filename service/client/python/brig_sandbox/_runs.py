"""What the groups of methods of CodeSandbox have in common."""

from __future__ import annotations

from typing import Any, Dict, Mapping, Optional

from ._http import Transport
from ._limits import ResourceLimits
from ._result import Content


class Runs:
    """The request of a run, which CodeSandbox makes."""

    _http: Transport

    def _run(
        self,
        code: Content,
        language: str,
        limits: Optional[ResourceLimits],
        env_vars: Optional[Mapping[str, str]],
        files: Optional[Mapping[str, Content]],
        project: Optional[str],
        task: Optional[str],
    ) -> Dict[str, Any]:
        raise NotImplementedError
