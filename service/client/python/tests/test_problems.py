import io
import json
import os
import tempfile
import unittest
import zipfile
from pathlib import Path

from brig_sandbox import CodeSandbox, InfraError, RequestError, ResourceLimits

from .service import Answer, Service, problem, ran
from .test_grading import CRASH, RIGHT, WRONG, graded

STORED = {"name": "sum", "digest": "sha256:ab", "format": "kattis 2025-09", "title": "Sum", "tests": 3, "bytes": 1000, "stored": "2026-03-01T12:00:00Z", "scoring": True}


class Problems(unittest.TestCase):
    def test_a_directory_is_sent_as_a_zip(self) -> None:
        with tempfile.TemporaryDirectory() as top, Service(Answer(200, {**STORED, "manifest": {"name": "sum"}})) as service:
            os.mkdir(Path(top, "data"))
            Path(top, "data/1.in").write_bytes(b"\xff")
            Path(top, "data/1.ans").write_text("3")
            os.chmod(Path(top, "data/1.ans"), 0o755)
            os.symlink("data", Path(top, "more"))
            os.symlink("1.in", Path(top, "data/2.in"))
            os.mkfifo(Path(top, "fifo"))
            stored = CodeSandbox(url=service.url).put_problem("sum", top)
        self.assertEqual((service.asked[0].method, service.asked[0].path), ("PUT", "/v1/problems/sum"))
        with zipfile.ZipFile(io.BytesIO(service.asked[0].body)) as archive:
            self.assertEqual({i.filename: (archive.read(i), oct(i.external_attr >> 16)[:4], i.external_attr >> 16 & 0o100 > 0) for i in archive.infolist()}, {
                "data/1.ans": (b"3", "0o10", True),
                "data/1.in": (b"\xff", "0o10", False),
                "data/2.in": (b"1.in", "0o12", True),
                "more": (b"data", "0o12", True),
            })
        self.assertEqual((stored.name, stored.digest, stored.tests, stored.bytes, stored.scoring, stored.interactive, stored.manifest), ("sum", "sha256:ab", 3, 1000, True, False, {"name": "sum"}))

    def test_an_archive_is_sent_as_it_is(self) -> None:
        with tempfile.TemporaryDirectory() as top, Service(Answer(200, STORED)) as service:
            Path(top, "p.tar.zst").write_bytes(b"the bytes")
            box = CodeSandbox(url=service.url)
            box.put_problem("a/b", Path(top, "p.tar.zst"))
            box.put_problem("b", b"others")
        self.assertEqual([(a.path, a.body) for a in service.asked], [("/v1/problems/a%2Fb", b"the bytes"), ("/v1/problems/b", b"others")])

    def test_problems_are_listed_and_removed(self) -> None:
        with Service(Answer(200, {"items": [STORED]}), Answer(200, STORED), Answer(204, None)) as service:
            box = CodeSandbox(url=service.url)
            self.assertEqual([p.title for p in box.problems()], ["Sum"])
            self.assertEqual(box.get_problem("sha256:ab").name, "sum")
            box.delete_problem("sum")
        self.assertEqual([(a.method, a.path) for a in service.asked], [("GET", "/v1/problems"), ("GET", "/v1/problems/sha256%3Aab"), ("DELETE", "/v1/problems/sum")])

    def test_a_problem_is_verified(self) -> None:
        said = {"problem": "sum", "format": "x", "ok": False, "mistakes": ["a"], "warnings": [], "not_run": ["b"], "submissions": [{"path": "accepted/a.py"}]}
        lines = [b'{"ended":1,"runs":2}', b"", json.dumps({"end": True, "verification": said}).encode()]
        failed = json.dumps({"end": True, "error": {"code": "check-failed", "message": "no"}}).encode()
        shown = []
        with Service(Answer(200, b"\n".join(lines) + b"\n"), Answer(200, failed + b"\n"), Answer(200, lines[0] + b"\n")) as service:
            box = CodeSandbox(url=service.url)
            v = box.verify_problem("sum", repeat=2, longest_seconds=3, progress=lambda ended, runs: shown.append((ended, runs)))
            for want in ("check-failed", "unreachable"):
                with self.assertRaises(InfraError) as caught:
                    box.verify_problem("sum")
                self.assertEqual(caught.exception.code, want)
        self.assertEqual((service.asked[0].method, service.asked[0].path, service.asked[0].body), ("POST", "/v1/problems/sum/verify", {"repeat": 2, "longest": "3.000000s"}))
        self.assertEqual((v.ok, v.mistakes, v.not_run, v.submissions[0]["path"], shown), (False, ["a"], ["b"], "accepted/a.py", [(1, 2)]))

    def test_what_is_sent_to_grade(self) -> None:
        with Service(graded(RIGHT, WRONG, CRASH)) as service:
            box = CodeSandbox(ResourceLimits(pids_limit=7), url=service.url, project="course")
            grade = box.grade("sum", "x")
            box.grade(problem="sum", source=b"\xff", language="cpp", limits=ResourceLimits(timeout_seconds=2), files={"a.h": ""}, stop_at_failure=True, mode="fresh", task="t")
        self.assertEqual(service.asked[0].body, {"problem": "sum", "language": "python", "source": "x", "labels": {"project": "course"}})
        more = service.asked[1].body
        self.assertEqual(more.pop("limits")["wall"], "2.000000s")
        self.assertEqual(more, {"problem": "sum", "language": "cpp", "source": {"base64": "/w=="}, "files": [{"name": "a.h", "content": ""}], "stop_at_failure": True, "mode": "fresh", "labels": {"project": "course", "task": "t"}})
        self.assertEqual((grade.total, grade.passed, grade.points, grade.error_message), (3, 1, None, 'test 2: line 1: expected "3", got "4"'))
        self.assertAlmostEqual(grade.score, 1 / 3)

    def test_the_score_is_that_of_the_summary(self) -> None:
        answer = graded(RIGHT, WRONG)
        answer.body["summary"].update(score=0.9, points=45, max_points=50)
        with Service(answer) as service:
            grade = CodeSandbox(url=service.url).grade("sum", "x")
        self.assertEqual((grade.score, grade.points, grade.max_points, grade.accepted), (0.9, 45.0, 50.0, False))

    def test_what_was_not_judged_has_no_grade(self) -> None:
        whole = graded(RIGHT).body
        for answer, kind, code in (
            (ran(), InfraError, "bad-answer"),
            (Answer(200, {**whole, "summary": {**whole["summary"], "tests": 0}}), InfraError, "bad-answer"),
            (Answer(200, {**whole, "summary": {**whole["summary"], "tests": "1"}}), InfraError, "bad-answer"),
            (Answer(200, {**whole, "summary": {**whole["summary"], "score": "high"}}), InfraError, "bad-answer"),
            (problem(404, "unknown-problem", False), RequestError, "unknown-problem"),
            (problem(422, "check-failed", False), RequestError, "check-failed"),
            (problem(500, "internal", False), InfraError, "internal"),
        ):
            with self.subTest(answer), Service(answer) as service, self.assertRaises(kind) as raised:
                CodeSandbox(url=service.url).grade("sum", "x")
            self.assertEqual(raised.exception.code, code)

    def test_answers_that_are_no_problems(self) -> None:
        for answer in (Answer(200, None), Answer(200, {"name": "x"}), Answer(200, {"digest": "x"}), Answer(200, {**STORED, "tests": "many"}), Answer(200, [])):
            with self.subTest(answer), Service(answer) as service:
                box = CodeSandbox(url=service.url)
                for asked in (lambda: box.put_problem("x", b""), lambda: box.get_problem("x"), box.problems):
                    with self.assertRaises(InfraError) as raised:
                        asked()
                    self.assertEqual(raised.exception.code, "bad-answer")
