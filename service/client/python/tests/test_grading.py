import unittest
from typing import Any, Dict, List

from brig_sandbox import Case, CodeSandbox, ErrorAnalysis, InfraError, RequestError, ResourceLimits

from .service import Answer, Service, problem, ran


def graded(*tests: Any, asked: int = 0, verdict: str = "ok", **more: Any) -> Answer:
    """The service's answer for a run with tests."""
    said = [{"id": str(n), "result": result.body, **how} for n, (result, how) in enumerate(tests, 1)]
    return ran(verdict, tests=said, summary={"tests": asked or len(said), "ran": len(said), "accepted": sum(how.get("answer") == "accepted" for _, how in tests)}, **more)


NO_ANSWER: Dict[str, Any] = {}
RIGHT = (ran(stdout="3\n"), {"answer": "accepted"})
WRONG = (ran(stdout="4\n"), {"answer": "wrong-answer", "difference": 'line 1: expected "3", got "4"'})
CRASH = (ran("nonzero", exit_code=1, stderr="trace", diagnosis={"type": "ValueError", "message": "no"}), NO_ANSWER)


class Grading(unittest.TestCase):
    def test_a_part_of_the_points_is_not_accepted(self) -> None:
        with Service(graded(RIGHT, (ran(), {"answer": "partial", "score": 0.5}), WRONG)) as service:
            grade = CodeSandbox(url=service.url).run_tests("x", [{"expected": ""}] * 3)
        self.assertEqual([one.accepted for one in grade.tests], [True, False, False])

    def test_unit_tests(self) -> None:
        failed = (ran(), {"answer": "wrong-answer", "message": "assert 2 == 4", "answer_visible": True})
        with Service(graded((ran(), {"answer": "accepted", "answer_visible": True}), failed, asked=3, verdict="nonzero")) as service:
            box = CodeSandbox(url=service.url)
            grade = box.run_suite("def sq(x): ...", {"test_sq.py": "..."}, cases=3)
            box.run_suite("x", {"a.test.js": ""}, "junit", command=["node", "--test", "--out={report}"], source_name="sq.js", mode="fresh")
        self.assertEqual(service.asked[0].body, {
            "language": "python-full", "source": "def sq(x): ...", "source_name": "solution.py", "files": [{"name": "test_sq.py", "content": "..."}], "suite": {"report": "pytest", "cases": 3}})
        self.assertEqual((service.asked[1].body["language"], service.asked[1].body["source_name"], service.asked[1].body["mode"], service.asked[1].body["suite"]),
                         ("javascript", "sq.js", "fresh", {"report": "junit", "command": ["node", "--test", "--out={report}"]}))
        self.assertEqual((grade.accepted, grade.passed, grade.total, [t.answer_visible for t in grade.tests], grade.tests[1].error_message), (False, 1, 3, [True, True], "assert 2 == 4"))

    def test_named_files(self) -> None:
        wrote = (ran(), {"answer": "accepted", "output": {"base64": "/wA="}})
        none = (ran(), {"answer": "wrong-answer", "difference": "the program left no file output.txt"})
        with Service(graded(wrote, none)) as service:
            grade = CodeSandbox(url=service.url).run_tests("x", [Case("1", files={"words": b"\xff"}), {"stdin": "2", "files": {}}], input_file="input.txt", output_file="output.txt")
        body = service.asked[0].body
        self.assertEqual((body["input_file"], body["output_file"]), ("input.txt", "output.txt"))
        self.assertEqual(body["tests"], [{"id": "1", "stdin": "1", "files": [{"name": "words", "content": {"base64": "/w=="}}]}, {"id": "2", "stdin": "2"}])
        self.assertEqual([one.output for one in grade.tests], [b"\xff\x00", b""])
        self.assertEqual(grade.error_message, "test 2: the program left no file output.txt")

    def test_the_least_that_is_sent(self) -> None:
        with Service(graded(RIGHT)) as service:
            CodeSandbox(url=service.url).run_tests("x", [{"expected": ""}])
        asked = service.asked[0]
        self.assertEqual((asked.method, asked.path), ("POST", "/v1/runs"))
        self.assertEqual(asked.body, {"language": "python", "source": "x", "tests": [{"id": "1", "expected": ""}], "compare": {"how": "lines"}})

    def test_all_that_is_sent(self) -> None:
        cases: List[Any] = [
            Case("1 2", "3"),
            {"id": "big", "stdin": b"\xff", "expected": b"\xff\x00", "timeout_seconds": 2, "memory_limit": "64m"},
            Case(args=["a", "b"]),
        ]
        with Service(graded(RIGHT, RIGHT, RIGHT)) as service:
            box = CodeSandbox(ResourceLimits(pids_limit=7), url=service.url, project="course", task="sum")
            box.run_tests("x", iter(cases), "cpp", compare="float", tolerance=1e-3, stop_at_failure=True, mode="exclusive", env_vars={"A": "1"}, files={"f": "g"}, task="other")
        body = service.asked[0].body
        self.assertEqual(body.pop("limits")["pids"], 7)
        self.assertEqual(
            body,
            {
                "language": "cpp",
                "source": "x",
                "env": {"A": "1"},
                "files": [{"name": "f", "content": "g"}],
                "labels": {"project": "course", "task": "other"},
                "compare": {"how": "float", "tolerance": 1e-3},
                "stop_at_failure": True,
                "mode": "exclusive",
                "tests": [
                    {"id": "1", "stdin": "1 2", "expected": "3"},
                    {"id": "big", "stdin": {"base64": "/w=="}, "expected": {"base64": "/wA="}, "limits": {"wall": "2.000000s", "memory": 64 << 20}},
                    {"id": "3", "args": ["a", "b"]},
                ],
            },
        )

    def test_a_pair_is_a_test(self) -> None:
        with Service(graded(RIGHT, RIGHT, RIGHT)) as service:
            CodeSandbox(url=service.url).run_tests("x", [("", "1"), ("1 2", None), ["5", b"6"]])  # type: ignore[list-item]
        self.assertEqual(service.asked[0].body["tests"], [{"id": "1", "expected": "1"}, {"id": "2", "stdin": "1 2"}, {"id": "3", "stdin": "5", "expected": "6"}])

    def test_what_is_no_test_is_told_what_to_write(self) -> None:
        for bad, text in (
            ("1 2", "a test is a Case, a mapping such as .*, or a pair .stdin, expected., not '1 2'"),
            (("1", "2", "3"), "or a pair .stdin, expected., not "),
            (None, "or a pair .stdin, expected., not None"),
            ({"input": "1", "expected": "2"}, "a test has no field 'input': it is called stdin"),
            ({"output": "1"}, "a test has no field 'output': it is called expected"),
            ({"points": 1}, "a test has no field 'points': the fields are stdin, expected, id, args, timeout_seconds, memory_limit"),
            ({"memory_limit": 64}, 'memory_limit is 64: write a text with a unit, such as "64m"'),
            ({"timeout_seconds": "2"}, "timeout_seconds is '2': write a number"),
        ):
            with self.subTest(bad), self.assertRaisesRegex(TypeError, text):
                CodeSandbox().run_tests("x", [bad])  # type: ignore[list-item]

    def test_accepted(self) -> None:
        with Service(graded(RIGHT, RIGHT)) as service:
            grade = CodeSandbox(url=service.url).run_tests("x", [Case("1 2", "3")] * 2)
        self.assertEqual((grade.accepted, grade.verdict, grade.passed, grade.ran, grade.total), (True, "ok", 2, 2, 2))
        self.assertEqual((grade.error_message, grade.diagnosis, grade.run_id), (None, None, "run-1"))
        self.assertEqual([(t.id, t.accepted, t.stdout, t.error_message) for t in grade.tests], [("1", True, "3\n", None), ("2", True, "3\n", None)])

    def test_every_test_that_was_not_accepted_says_why(self) -> None:
        with Service(graded(RIGHT, WRONG, CRASH, verdict="nonzero", diagnosis={"type": "ValueError", "message": "no"})) as service:
            grade = CodeSandbox(url=service.url).run_tests("x", [Case("1 2", "3")] * 3)
        self.assertEqual((grade.accepted, grade.verdict, grade.passed, grade.ran, grade.total), (False, "nonzero", 1, 3, 3))
        self.assertEqual(grade.error_message, 'test 2: line 1: expected "3", got "4"')
        self.assertEqual(grade.diagnosis, {"type": "ValueError", "message": "no"})
        _, wrong, crash = grade.tests
        self.assertEqual((wrong.verdict, wrong.accepted, wrong.difference, wrong.exit_code), ("ok", False, 'line 1: expected "3", got "4"', 0))
        self.assertEqual((crash.verdict, crash.accepted, crash.difference, crash.exit_code), ("nonzero", False, "", 1))
        self.assertEqual((crash.stderr, crash.diagnosis, crash.error_message), ("trace", {"type": "ValueError", "message": "no"}, "ValueError: no"))

    def test_streams_of_a_test_in_base64(self) -> None:
        binary = (ran(stdout={"base64": "AQEB"}, stderr={"base64": "AQI="}), {"answer": "wrong-answer", "cut": True})
        with Service(graded(binary)) as service:
            test = CodeSandbox(url=service.url).run_tests("x", [Case("1 2", "3")]).tests[0]
        self.assertEqual((test.stdout, test.stderr, test.cut), ("\x01\x01\x01", "\x01\x02", True))

    def test_a_wrong_answer_alone_is_not_accepted(self) -> None:
        with Service(graded(WRONG)) as service:
            grade = CodeSandbox(url=service.url).run_tests("x", [Case("1 2", "3")])
            told = CodeSandbox(url=service.url).analyze_error(grade.result)
        self.assertEqual((grade.verdict, grade.accepted, grade.passed, grade.result.success), ("ok", False, 0, False))
        self.assertEqual(told, ErrorAnalysis(True, "wrong-answer", message="0 of 1 tests accepted"))

    def test_fewer_that_ran_than_asked_for(self) -> None:
        with Service(graded(RIGHT, asked=3)) as service:
            grade = CodeSandbox(url=service.url).run_tests("x", [{}] * 3, stop_at_failure=True)
        self.assertEqual((grade.accepted, grade.passed, grade.ran, grade.total, grade.error_message), (False, 1, 1, 3, "1 of 3 tests accepted"))
        with Service(graded(asked=3, verdict="compile-error", exit_code=1, stderr="a.c:1: error: x\n")) as service:
            grade = CodeSandbox(url=service.url).run_tests("x", [{}] * 3, "c")
        self.assertEqual((grade.accepted, grade.ran, grade.verdict, grade.error_message), (False, 0, "compile-error", "a.c:1: error: x"))

    def test_an_answer_that_is_no_grade_is_never_one(self) -> None:
        one = graded(RIGHT).body["tests"][0]
        whole = {"tests": 1, "ran": 1, "accepted": 1}
        for answer in (
            ran(),  # the answer of a service that does not know tests
            ran(tests=[one]),
            ran(tests=[one], summary={**whole, "tests": 2}),
            ran(tests=[one], summary={**whole, "accepted": 0}),
            ran(tests=[], summary=whole),
            ran(tests=[{"id": "1"}], summary=whole),
            ran(tests=[{"result": one["result"]}], summary=whole),
            ran(tests=["1"], summary=whole),
        ):
            with self.subTest(answer), Service(answer) as service, self.assertRaises(InfraError) as raised:
                CodeSandbox(url=service.url).run_tests("x", [{}])
            self.assertEqual(raised.exception.code, "bad-answer")

    def test_what_brig_could_not_do_is_raised(self) -> None:
        for answer, kind in ((problem(500, "internal", False), InfraError), (problem(400, "bad-request", False), RequestError)):
            with Service(answer) as service, self.assertRaises(kind):
                CodeSandbox(url=service.url).run_tests("x", [{}])

    def test_tests_that_make_no_sense_are_refused_unasked(self) -> None:
        bad: Any
        for bad, kind in (([], ValueError), ([{"expect": "3"}], TypeError), ("12", TypeError), ([{"args": "a b"}], TypeError)):
            with self.subTest(bad), self.assertRaises(kind):
                CodeSandbox(url="http://127.0.0.1:1").run_tests("x", bad)
