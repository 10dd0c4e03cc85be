"""A program held against tests."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple, Union

from ._errors import InfraError, reading
from ._limits import parse_size, span
from ._result import Content, ExecutionResult, encode


@dataclass(frozen=True)
class Case:
    """One test: an input, and the output it should give.

    expected:        None: the output is not compared, and whatever ends well is accepted
    id:              empty: its position, counted from 1
    args:            of the program
    timeout_seconds: of this test alone; None: as the run's limits say
    memory_limit:    of this test alone, such as "64m"; None: as the run's limits say
    """

    stdin: Content = ""
    expected: Optional[Content] = None
    id: str = ""
    args: Sequence[str] = ()
    timeout_seconds: Optional[float] = None
    memory_limit: Optional[str] = None

    def to_api(self, position: int) -> Dict[str, Any]:
        """The test as the service reads it. position counts from 1."""
        if isinstance(self.args, str):
            raise TypeError("args is a list of words")
        asked: Dict[str, Any] = {"id": str(self.id) or str(position)}
        if self.stdin:
            asked["stdin"] = encode(self.stdin)
        if self.expected is not None:
            asked["expected"] = encode(self.expected)
        if self.args:
            asked["args"] = list(self.args)
        limits: Dict[str, Any] = {}
        if self.timeout_seconds is not None:
            limits["wall"] = span(self.timeout_seconds)
        if self.memory_limit is not None:
            limits["memory"] = parse_size(self.memory_limit)
        if limits:
            asked["limits"] = limits
        return asked


CaseItem = Union[Case, Mapping[str, Any], Tuple[Content, Optional[Content]]]

# What others call the fields.
_ALSO_CALLED = {"input": "stdin", "in": "stdin", "output": "expected", "out": "expected", "answer": "expected", "expected_output": "expected", "name": "id", "timeout": "timeout_seconds", "memory": "memory_limit"}


def case_of(item: CaseItem) -> Case:
    """A case, a mapping of its fields, or a pair of stdin and expected; anything else is a TypeError."""
    if isinstance(item, Case):
        return item
    if isinstance(item, Mapping):
        known = [f.name for f in fields(Case)]
        for name in item:
            if name not in known:
                cure = f": it is called {_ALSO_CALLED[name]}" if name in _ALSO_CALLED else ": there are " + ", ".join(known)
                raise TypeError(f"a test has no field {name!r}{cure}")
        return Case(**item)
    if isinstance(item, (tuple, list)) and len(item) == 2:
        return Case(item[0], item[1])
    raise TypeError(f'a test is a Case, a mapping such as {{"stdin": "1 2", "expected": "3"}}, or a pair (stdin, expected), not {item!r:.80}')


@dataclass(frozen=True)
class CaseResult:
    """How one test ended.

    accepted is true when the program ended well and its output, where one was
    expected, is the expected one; otherwise error_message tells why. difference is
    where a wrong output first departs from it, and empty for any other failure.
    """

    id: str
    accepted: bool
    difference: str
    result: ExecutionResult = field(repr=False)  # all there is of this test's run
    cut: bool = False  # stdout or stderr was longer than a test's result carries

    @property
    def verdict(self) -> str:
        """How the program ended; ok also where its output is wrong."""
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
        """The service's report on a program that failed; None where it ended well."""
        return self.result.diagnosis

    @property
    def error_message(self) -> Optional[str]:
        """One line for people; None when it was accepted."""
        return None if self.accepted else self.difference or self.result.error_message or "not accepted"

    @classmethod
    @reading()
    def of(cls, said: Any, language: str) -> CaseResult:
        if not isinstance(said, dict) or not isinstance(said.get("id"), str):
            raise InfraError("the service answers with a test that has no id: is it a brig service?", code="bad-answer")
        result = ExecutionResult.of(said.get("result"), language)
        return cls(
            id=said["id"],
            accepted=result.success and said.get("answer") != "wrong-answer",
            difference=str(said.get("difference") or ""),
            result=result,
            cut=said.get("cut") is True,
        )


@dataclass(frozen=True)
class Grade:
    """What the tests of a program come to.

    accepted is true when every test was run and accepted; passed counts those that
    were. verdict is the worst of the tests', compile-error where there was nothing to
    run, and ok also where an output is wrong.
    """

    accepted: bool
    verdict: str
    passed: int
    ran: int  # fewer than total after stop_at_failure, or where it did not compile
    total: int
    tests: List[CaseResult]  # those that ran, in the order asked for
    result: ExecutionResult = field(repr=False)  # of the whole; where it did not compile, stdout and stderr are the compiler's

    @property
    def run_id(self) -> str:
        return self.result.run_id

    @property
    def diagnosis(self) -> Optional[Dict[str, Any]]:
        """The service's report on the worst failure; None where every program ended well."""
        return self.result.diagnosis

    @property
    def error_message(self) -> Optional[str]:
        """One line for people: of the compiler, or of the first test that failed. None when all were accepted."""
        for test in self.tests:
            if not test.accepted:
                return f"test {test.id}: {test.error_message}"
        return self.result.error_message

    @classmethod
    @reading()
    def of(cls, said: Any, language: str, asked: int) -> Grade:
        """The grade in the service's answer; InfraError when it is none, or of another number of tests."""
        result = ExecutionResult.of(said, language)
        tests = [CaseResult.of(test, language) for test in said.get("tests") or ()]
        passed = sum(test.accepted for test in tests)
        summary = said.get("summary")
        if not isinstance(summary, dict) or [summary.get(k) for k in ("tests", "ran", "accepted")] != [asked, len(tests), passed]:
            raise InfraError("the service answers without a summary of the tests: is it a brig service?", code="bad-answer")
        return cls(
            accepted=result.success,
            verdict=result.verdict,
            passed=passed,
            ran=len(tests),
            total=asked,
            tests=tests,
            result=result,
        )
