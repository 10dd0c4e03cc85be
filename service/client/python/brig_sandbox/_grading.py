"""Tests of a program, and their results."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple, Union

from ._checks import check
from ._errors import InfraError, reading
from ._limits import parse_size, span
from ._result import Content, ExecutionResult, decode, encode


@dataclass(frozen=True)
class Case:
    """One test: an input and the expected output.

    expected:        None: the output is not compared, and a program that ends well is accepted
    id:              empty: its position, from 1
    args:            arguments of the program
    timeout_seconds: for this test only; None: the run's limit
    memory_limit:    for this test only, such as "64m"; None: the run's limit
    files:           placed next to the program in this test alone, read-only
    """

    stdin: Content = ""
    expected: Optional[Content] = None
    id: str = ""
    args: Sequence[str] = ()
    timeout_seconds: Optional[float] = None
    memory_limit: Optional[str] = None
    files: Optional[Mapping[str, Content]] = None

    def to_api(self, position: int) -> Dict[str, Any]:
        """The test in the service's format. position counts from 1."""
        check(stdin=self.stdin, expected=self.expected, args=self.args, files=self.files)
        check(timeout_seconds=self.timeout_seconds, memory_limit=self.memory_limit)
        asked: Dict[str, Any] = {"id": str(self.id) or str(position)}
        if self.stdin:
            asked["stdin"] = encode(self.stdin)
        if self.expected is not None:
            asked["expected"] = encode(self.expected)
        if self.args:
            asked["args"] = list(self.args)
        if self.files:
            asked["files"] = [{"name": name, "content": encode(content)} for name, content in self.files.items()]
        limits: Dict[str, Any] = {}
        if self.timeout_seconds is not None:
            limits["wall"] = span(self.timeout_seconds)
        if self.memory_limit is not None:
            limits["memory"] = parse_size(self.memory_limit)
        if limits:
            asked["limits"] = limits
        return asked


CaseItem = Union[Case, Mapping[str, Any], Tuple[Content, Optional[Content]]]

# Other names that people use for the fields.
_ALSO_CALLED = {"input": "stdin", "in": "stdin", "output": "expected", "out": "expected", "answer": "expected", "expected_output": "expected", "name": "id", "timeout": "timeout_seconds", "memory": "memory_limit"}


def case_of(item: CaseItem) -> Case:
    """Converts a Case, a mapping of its fields, or a pair of stdin and expected. Anything else is a TypeError."""
    if isinstance(item, Case):
        return item
    if isinstance(item, Mapping):
        known = [f.name for f in fields(Case)]
        for name in item:
            if name not in known:
                cure = f": it is called {_ALSO_CALLED[name]}" if name in _ALSO_CALLED else ": the fields are " + ", ".join(known)
                raise TypeError(f"a test has no field {name!r}{cure}")
        return Case(**item)
    if isinstance(item, (tuple, list)) and len(item) == 2:
        return Case(item[0], item[1])
    raise TypeError(f'a test is a Case, a mapping such as {{"stdin": "1 2", "expected": "3"}}, or a pair (stdin, expected), not {item!r:.80}')


@dataclass(frozen=True)
class CaseResult:
    """How one test ended.

    accepted is true if the program ended well and, if an output is expected, its output
    matches; otherwise error_message says why. difference describes the first difference
    of a wrong output, and is empty for any other failure.
    """

    id: str
    accepted: bool
    difference: str
    result: ExecutionResult = field(repr=False)  # the complete result of this test's run
    cut: bool = False  # stdout, stderr or output was longer than the part in a test's result
    message: str = ""  # what the checker or the case of a suite says
    answer_visible: bool = False  # a case of a suite: the program could see what is expected, and forge the result
    output: bytes = b""  # the beginning of the output_file of run_tests
    checker_failed: bool = False  # the checker failed on the output and accepts the expected one: a wrong answer

    @property
    def verdict(self) -> str:
        """How the program ended. It is ok even if the output is wrong."""
        return self.result.verdict

    @property
    def stdout(self) -> str:
        return self.result.stdout

    @property
    def stderr(self) -> str:
        return self.result.stderr

    @property
    def exit_code(self) -> int:
        return self.result.exit_code

    @property
    def diagnosis(self) -> Optional[Dict[str, Any]]:
        """The service's report on a program that failed; None if it ended well."""
        return self.result.diagnosis

    @property
    def error_message(self) -> Optional[str]:
        """One line for people; None if the test was accepted."""
        return None if self.accepted else self.difference or self.message or self.result.error_message or "not accepted"

    @classmethod
    @reading()
    def of(cls, said: Any, language: str) -> CaseResult:
        if not isinstance(said, dict) or not isinstance(said.get("id"), str):
            raise InfraError("the answer has a test without an id: is this a brig service?", code="bad-answer")
        result = ExecutionResult.of(said.get("result"), language)
        return cls(
            id=said["id"],
            accepted=result.success and said.get("answer") not in ("wrong-answer", "partial"),
            difference=str(said.get("difference") or ""),
            result=result,
            cut=said.get("cut") is True,
            message=str(said.get("message") or ""),
            checker_failed=said.get("checker_failed") is True,
            answer_visible=said.get("answer_visible") is True,
            output=decode(said.get("output")),
        )


@dataclass(frozen=True)
class Grade:
    """The summary of the tests of a program.

    accepted is true if every test ran and was accepted; passed is the number of accepted
    tests. verdict is the worst verdict of the tests, or compile-error if the program did
    not compile. It is ok even if an output is wrong.
    """

    accepted: bool
    verdict: str
    passed: int
    ran: int  # less than total after stop_at_failure, or if the program did not compile
    total: int
    tests: List[CaseResult]  # the tests that ran, in the order of the request
    result: ExecutionResult = field(repr=False)  # of the whole run; if the program did not compile, stdout and stderr are the compiler's
    score: float = 0.0  # 0 to 1: of the groups or the checker, otherwise the share of accepted tests
    points: Optional[float] = None  # of the groups of tests; None: there are none
    max_points: Optional[float] = None

    @property
    def run_id(self) -> str:
        return self.result.run_id

    @property
    def diagnosis(self) -> Optional[Dict[str, Any]]:
        """The service's report on the worst failure; None if every program ended well."""
        return self.result.diagnosis

    @property
    def error_message(self) -> Optional[str]:
        """One line for people, about the compiler or the first failed test. None if all tests were accepted."""
        for test in self.tests:
            if not test.accepted:
                return f"test {test.id}: {test.error_message}"
        return self.result.error_message

    @classmethod
    @reading()
    def of(cls, said: Any, language: str, asked: Optional[int]) -> Grade:
        """The grade in the service's answer. Raises InfraError if the answer is not a grade or has another number of tests; asked is None if a problem has them."""
        result = ExecutionResult.of(said, language)
        tests = [CaseResult.of(test, language) for test in said.get("tests") or ()]
        passed = sum(test.accepted for test in tests)
        summary = said.get("summary")
        total = summary.get("tests") if asked is None and isinstance(summary, dict) else asked
        if not isinstance(summary, dict) or not isinstance(total, int) or total < 1 or [summary.get(k) for k in ("tests", "ran", "accepted")] != [total, len(tests), passed]:
            raise InfraError("the answer has no summary of the tests: is this a brig service?", code="bad-answer")
        return cls(
            accepted=result.success,
            verdict=result.verdict,
            passed=passed,
            ran=len(tests),
            total=total,
            tests=tests,
            result=result,
            score=passed / total if summary.get("score") is None else float(summary["score"]),
            points=_number(summary.get("points")),
            max_points=_number(summary.get("max_points")),
        )


def _number(said: Any) -> Optional[float]:
    return None if said is None else float(said)
