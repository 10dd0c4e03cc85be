"""Unit tests next to a program."""

from __future__ import annotations

from typing import Mapping, Optional, Sequence

from ._grading import Grade
from ._http import Transport
from ._limits import ResourceLimits
from ._result import Content
from ._runs import Runs


class Suites(Runs):
    """The method of CodeSandbox for unit tests."""

    _http: Transport

    def run_suite(
        self,
        code: Content,
        files: Mapping[str, Content],
        report: str = "pytest",
        language: Optional[str] = None,
        limits: Optional[ResourceLimits] = None,
        *,
        source_name: Optional[str] = None,
        command: Optional[Sequence[str]] = None,
        cases: Optional[int] = None,
        mode: Optional[str] = None,
        env_vars: Optional[Mapping[str, str]] = None,
        project: Optional[str] = None,
        task: Optional[str] = None,
    ) -> Grade:
        """Runs unit tests next to code, and returns the grade: each case is a test of it.

        The program and the cases run in one sandbox, so a program can read the cases and forge
        their report: each test of the grade has answer_visible. Use run_tests or a problem where
        somebody may look for such ways.

        files:       the cases, and what they need
        report:      what runs them: pytest, unittest, jest, pester, or junit (node --test, or any command that writes JUnit XML)
        language:    None: that whose image has what runs the cases
        source_name: of the file with code; None: solution.py, .js or .ps1
        command:     runs the cases instead of the usual one, with {report} for the name of its report
        cases:       how many there are: those that the report lacks were not passed

        Raises InfraError if the service failed, RequestError if it refused the request.
        """
        body = self._suite_body(code, files, report, language, limits, source_name, command, cases, mode, env_vars, project, task)
        return Grade.of(self._http.call("POST", "/v1/runs", body), str(body["language"]), None)
