import json
import unittest
from datetime import datetime, timedelta, timezone
from typing import Any, Dict, List
from urllib.parse import parse_qs, urlsplit

from brig_sandbox import CodeSandbox, ErrorAnalysis, InfraError, RequestError

from .service import Answer, Asked, Service, problem, ran

TRACE = """Traceback (most recent call last):
  File "/box/main.py", line 7, in <module>
    f()
  File "/box/lib.py", line 3, in f
    raise {}
"""


class More(unittest.TestCase):
    def test_languages(self) -> None:
        said = [{"name": "ruby", "stored": True}, {"name": "c", "stored": True}, {"name": "perl", "stored": False}, {"name": "java", "stored": True, "lacks": ["/usr/lib/x"]}]
        with Service(Answer(200, said)) as service:
            self.assertEqual(CodeSandbox(url=service.url).list_supported_languages(), ["c", "ruby"])
        with Service(Answer(200, {"other": 1})) as service, self.assertRaises(InfraError):
            CodeSandbox(url=service.url).list_supported_languages()

    def test_history(self) -> None:
        runs: List[Dict[str, Any]] = [
            {"run_id": "b", "project": "p", "task": "t", "language": "python", "verdict": "ok", "exit_code": 0, "wall_ns": 2500000000, "memory_bytes": 9, "created": "2026-03-01T12:00:01Z"},
            {"run_id": "a", "code": "agent-gone", "message": "it went", "exit_code": 0, "wall_ns": 0, "memory_bytes": None, "created": "2026-03-01T12:00:00Z"},
        ]
        wrong = {**runs[0], "run_id": "w", "summary": {"tests": 3, "ran": 3, "accepted": 1, "first_failed": "1"}}
        right = {**runs[0], "summary": {"tests": 3, "ran": 3, "accepted": 3}}
        with Service(Answer(200, {"items": [wrong, right]})) as service:
            one, other = CodeSandbox(url=service.url).get_execution_history()
        self.assertEqual((one.success, one.error_message, one.run_id), (False, "1 of 3 tests accepted, first failed: 1", "w"))
        self.assertEqual((other.success, other.error_message), (True, ""))
        for diagnosis, message in (
            ({"type": "NameError", "message": "name 'x' is not defined"}, "NameError: name 'x' is not defined"),
            ({"type": "nonzero", "message": "exited with code 3"}, "exited with code 3"),
            (None, "nonzero"),
        ):
            with Service(Answer(200, {"items": [{**runs[0], "verdict": "nonzero", "diagnosis": diagnosis}]})) as service:
                (bad,) = CodeSandbox(url=service.url).get_execution_history()
            self.assertEqual((bad.success, bad.error_message), (False, message))
        with Service(Answer(200, {"items": runs[:1], "next": "c.1"}), Answer(200, {"items": runs[1:]})) as service:
            box = CodeSandbox(url=service.url, project="mine")
            since = datetime(2026, 3, 1, 1, tzinfo=timezone(timedelta(hours=1)))
            ok, failed = box.get_execution_history(task="a&b", language="python", verdict="ok", since=since, limit=5)
            box.get_execution_history(project="")
        self.assertEqual((ok.container_id, ok.success, ok.execution_time, ok.memory_bytes, ok.error_code), ("b", True, 2.5, 9, ""))
        self.assertEqual(ok.timestamp, datetime(2026, 3, 1, 12, 0, 1, tzinfo=timezone.utc))
        self.assertEqual((failed.success, failed.verdict, failed.error_code, failed.error_message, failed.memory_bytes), (False, "", "agent-gone", "it went", None))
        path = urlsplit(service.asked[0].path)
        self.assertEqual(path.path, "/v1/history")
        want = {"project": ["mine"], "task": ["a&b"], "language": ["python"], "verdict": ["ok"], "since": ["2026-03-01T00:00:00Z"], "limit": ["5"]}
        self.assertEqual(parse_qs(path.query), want)
        want.update(limit=["4"], after=["c.1"])
        self.assertEqual(parse_qs(urlsplit(service.asked[1].path).query), want)
        self.assertEqual(service.asked[2].path, "/v1/history?limit=1000")

    def test_usage_of_a_run(self) -> None:
        with Service(Answer(200, {"run_id": "x", "state": "done", "result": ran().body})) as service:
            self.assertEqual(CodeSandbox(url=service.url).get_resource_usage("../x?").processes, 3)
        self.assertEqual(service.asked[0].path, "/v1/runs/..%2Fx%3F")

    def test_a_run_of_the_past_is_explained(self) -> None:
        diagnosis = {"category": "syntax", "type": "SyntaxError", "message": "invalid syntax", "file": "main.py", "line": 4}
        done = {"run_id": "x", "state": "done"}
        for result, want in (
            (ran(), ErrorAnalysis(False)),
            (ran("nonzero", exit_code=1, diagnosis=diagnosis), ErrorAnalysis(True, "SyntaxError", "syntax", "invalid syntax", "main.py", 4)),
            (ran(summary={"tests": 2, "ran": 2, "accepted": 1, "first_failed": "b"}), ErrorAnalysis(True, "wrong-answer", message="1 of 2 tests accepted, first failed: b")),
        ):
            with Service(Answer(200, {**done, "result": result.body})) as service:
                self.assertEqual(CodeSandbox(url=service.url).explain("x/y"), want)
            self.assertEqual(service.asked[0].path, "/v1/runs/x%2Fy")
        for said, kind, code in (
            ({**done, "error": problem(502, "agent-gone", True).body}, InfraError, "agent-gone"),
            ({"run_id": "x", "state": "running"}, RequestError, "not-done"),
            (done, InfraError, "bad-answer"),
            ([], InfraError, "bad-answer"),
        ):
            with Service(Answer(200, said)) as service, self.assertRaises(kind) as raised:
                CodeSandbox(url=service.url).explain("x")
            self.assertEqual(raised.exception.code, code)

    def test_cleanup_ends_sessions(self) -> None:
        def decide(asked: Asked) -> Answer:
            if asked.method == "GET":
                return Answer(200, {"items": [{"session_id": "a"}, {"session_id": "gone"}, {"session_id": "b"}]})
            return problem(404, "not-found", False) if asked.path.endswith("gone") else Answer(204, None)

        with Service(decide=decide) as service:
            self.assertEqual(CodeSandbox(url=service.url).cleanup_all_containers(), 2)
        self.assertEqual([a.path for a in service.asked if a.method == "DELETE"], ["/v1/sessions/a", "/v1/sessions/gone", "/v1/sessions/b"])

    def test_what_kind_of_error_it_was(self) -> None:
        box = CodeSandbox()
        for stderr, want in (
            ("", ErrorAnalysis(False)),
            ("warning: all is well\n", ErrorAnalysis(False)),
            ("Error: in words", ErrorAnalysis(True, "Error", "runtime", "in words")),
            (TRACE.format("x") + "NameError: name 'x' is not defined\n", ErrorAnalysis(True, "NameError", "runtime", "name 'x' is not defined", "/box/lib.py", 3)),
            (TRACE.format("x") + "ValueError: one\ntwo\n", ErrorAnalysis(True, "ValueError", "value", "one", "/box/lib.py", 3)),
            (TRACE.format("x") + "my.Own\n", ErrorAnalysis(True, "my.Own", "runtime", "", "/box/lib.py", 3)),
            ("  File \"/box/main.py\", line 2\n    f(\n     ^\nSyntaxError: '(' was never closed\n", ErrorAnalysis(True, "SyntaxError", "syntax", "'(' was never closed", "/box/main.py", 2)),
            ("ModuleNotFoundError: No module named 'x'", ErrorAnalysis(True, "ModuleNotFoundError", "import", "No module named 'x'")),
        ):
            self.assertEqual(box.analyze_error(stderr), want, stderr)
        diagnosis = {"category": "syntax", "type": "expected", "message": "';' is missing", "file": "a.c", "line": 4, "hint": "end it"}
        for answer, want in (
            (ran(), ErrorAnalysis(False)),
            (ran(stderr="Error: but it went well"), ErrorAnalysis(False)),
            (ran("compile-error", diagnosis=diagnosis), ErrorAnalysis(True, "expected", "syntax", "';' is missing", "a.c", 4, "end it")),
            (ran("memory-limit", stderr=TRACE + "MemoryError"), ErrorAnalysis(True, "memory-limit", "memory", "the memory limit of 1048576 bytes was exceeded")),
            (ran("nonzero", exit_code=1, stderr=TRACE + "TypeError: t"), ErrorAnalysis(True, "TypeError", "type", "t", "/box/lib.py", 3)),
            (ran("nonzero", exit_code=3), ErrorAnalysis(True, "nonzero", "runtime", "exited with code 3")),
            (ran("wall-limit"), ErrorAnalysis(True, "wall-limit", "time", "the time limit of 5s was exceeded")),
        ):
            with Service(answer) as service:
                self.assertEqual(box.analyze_error(CodeSandbox(url=service.url).execute("x")), want)

    def test_report(self) -> None:
        def decide(asked: Asked) -> Answer:
            if asked.path == "/health":
                return Answer(200, {"status": "ok", "slots": 2})
            return ran("nonzero", exit_code=1, stdout="o" * 100000, stderr=TRACE.format("x") + "NameError: x\n", files=[{"name": "f", "content": "abc"}])

        with Service(decide=decide) as service:
            box = CodeSandbox(url=service.url)
            report = box.create_debug_report(box.execute("raise x"), "raise x")
        text = str(report)
        for part in ("run run-1: python, nonzero, exit code 1", "error NameError (runtime) at /box/lib.py:3: x", "raise x", "processor 0.02 s, memory unknown", "[...]"):
            self.assertIn(part, text)
        self.assertLess(len(text), 20000)
        said = json.loads(report.to_json())
        self.assertEqual((said["service"]["slots"], said["run"]["verdict"], said["analysis"]["error_type"], said["files"], said["code"]), (2, "nonzero", "NameError", {"f": 3}, "raise x"))
        self.assertNotIn("stdout", said["run"])
        box = CodeSandbox(url="http://127.0.0.1:1", retries=0)  # the service has stopped meanwhile
        self.assertIn("gateway-unreachable", box.create_debug_report(report.result).service["error"])
