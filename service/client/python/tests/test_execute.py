import os
import tempfile
import unittest
from datetime import datetime, timezone
from typing import Any, Callable, List

from brig_sandbox import Blob, CodeSandbox, InfraError, NetworkHost, NetworkRefusal, NetworkUsage, ResourceLimits, Timeline

from .service import Answer, Service, ran


class Execute(unittest.TestCase):
    def test_the_least_that_is_sent(self) -> None:
        with Service(ran()) as service:
            CodeSandbox(url=service.url).execute("print(1)")
        asked = service.asked[0]
        self.assertEqual((asked.method, asked.path, asked.body), ("POST", "/v1/runs", {"language": "python", "source": "print(1)"}))
        self.assertNotIn("Authorization", asked.headers)

    def test_all_that_is_sent(self) -> None:
        with Service(ran()) as service:
            box = CodeSandbox(ResourceLimits(pids_limit=7), url=service.url + "/prefix/", api_key="k3y", project="p", task="t")
            box.execute("x", "ruby", env_vars={"A": "1"}, files={"a.txt": "ü", "b": b"\xff\x00"}, read_only=False, stdin=b"in", mode="fresh")
            box.execute("x", limits=ResourceLimits(memory_limit="64m"))
        asked = service.asked[0]
        self.assertEqual(asked.path, "/prefix/v1/runs")
        self.assertEqual(asked.headers["Authorization"], "Bearer k3y")
        limits = asked.body.pop("limits")
        self.assertEqual(limits["pids"], 7)
        self.assertEqual(
            asked.body,
            {
                "language": "ruby",
                "source": "x",
                "env": {"A": "1"},
                "files": [{"name": "a.txt", "content": "ü"}, {"name": "b", "content": {"base64": "/wA="}}],
                "writable_root": True,
                "stdin": "in",
                "mode": "fresh",
                "labels": {"project": "p", "task": "t"},
            },
        )
        self.assertEqual(service.asked[1].body["limits"]["memory"], 64 << 20)  # overrides default_limits
        self.assertEqual(service.asked[1].body["limits"]["pids"], 100)

    def test_whose_run_it_is_may_be_said_each_time(self) -> None:
        with Service(ran()) as service:
            box = CodeSandbox(url=service.url, project="p", task="t")
            box.execute("x", task="u")
            box.execute("x", project="q", task="")
            list(box.execute_many([{"code": "x", "task": "v"}]))
        self.assertEqual([a.body["labels"] for a in service.asked], [{"project": "p", "task": "u"}, {"project": "q"}, {"project": "p", "task": "v"}])

    def test_files_that_are_kept(self) -> None:
        digest = "0a" * 32
        left = [{"name": "a.out", "blob": digest, "size": 9, "executable": True}, {"name": "b", "content": "text"}]
        with Service(ran(files=left), ran(), Answer(200, b"\x00binary")) as service:
            box = CodeSandbox(url=service.url)
            result = box.execute("x", keep_files=True)
            blob = result.blobs["a.out"]
            box.execute("x", files={"prog": blob, "in": "1"})
            self.assertEqual(box.read_blob(blob), b"\x00binary")
            for wrong in ("x", digest.upper(), "../" + digest[3:]):
                with self.assertRaisesRegex(ValueError, "64 lower-case"):
                    box.read_blob(wrong)
            none: Any = 7
            with self.assertRaisesRegex(TypeError, "Blob of ExecutionResult.blobs"):
                box.read_blob(none)
        self.assertEqual((blob, result.files), (Blob(digest, 9, True), {"b": b"text"}))
        self.assertEqual(service.asked[0].body["collect"], {"blobs": True})
        self.assertNotIn("collect", service.asked[1].body)
        self.assertEqual(service.asked[1].body["files"], [{"name": "prog", "blob": digest, "executable": True}, {"name": "in", "content": "1"}])
        self.assertEqual((service.asked[2].method, service.asked[2].path), ("GET", "/v1/blobs/" + digest))

    def test_packages(self) -> None:
        with Service(ran(), ran()) as service:
            box = CodeSandbox(url=service.url)
            box.execute("x", requirements=("numpy==2.*", "pandas"))
            box.execute("x", requirements=[])
            with self.assertRaises(TypeError):
                box.execute("x", requirements="numpy")
        self.assertEqual(service.asked[0].body["requirements"], ["numpy==2.*", "pandas"])
        self.assertNotIn("requirements", service.asked[1].body)

    def test_a_network(self) -> None:
        reached = {
            "hosts": [{"name": "a.test", "port": 443, "connections": 2, "bytes_in": 30, "bytes_out": 4}],
            "refused": [{"name": "b.test", "why": "the name is not allowed", "count": 3}, {"name": "a.test", "port": 80, "why": "x", "count": 1}],
            "bytes_in": 30,
            "bytes_out": 4,
            "connections": 2,
        }
        with Service(ran(network=reached)) as service:
            box = CodeSandbox(url=service.url)
            result = box.execute("x", network_enabled=True)
            box.execute("x", network_enabled=True, allow=["a.test", "*.b.test:8443"])
            box.execute("x", allow=[])
            list(box.execute_many([{"code": "x", "network_enabled": True, "allow": ("a.test",)}]))
            with self.assertRaisesRegex(ValueError, "network_enabled is not True"):
                box.execute("x", allow=["a.test"])
            wrong: Any = "a.test"
            with self.assertRaisesRegex(TypeError, "allow is 'a.test': write a list of texts"):
                box.execute("x", network_enabled=True, allow=wrong)
        asked = [(a.body.get("network"), a.body.get("allow")) for a in service.asked]
        self.assertEqual(asked, [("public", None), ("allow", ["a.test", "*.b.test:8443"]), (None, None), ("allow", ["a.test"])])
        self.assertEqual(
            result.network,
            NetworkUsage([NetworkHost("a.test", 443, 2, 30, 4)], [NetworkRefusal("b.test", 0, "the name is not allowed", 3), NetworkRefusal("a.test", 80, "x", 1)], 30, 4, 2),
        )
        with Service(ran()) as service:
            self.assertIsNone(CodeSandbox(url=service.url).execute("x").network)
        with Service(ran(network={"hosts": [{"name": "a"}]})) as service, self.assertRaises(InfraError) as raised:
            CodeSandbox(url=service.url).execute("x", network_enabled=True)
        self.assertEqual(raised.exception.code, "bad-answer")

    def test_address_and_key_from_the_environment(self) -> None:
        with Service(ran()) as service:
            saved = dict(os.environ)
            os.environ.update(BRIG_URL=service.url, BRIG_API_KEY="from-env")
            try:
                CodeSandbox().execute("x")
            finally:
                os.environ.clear()
                os.environ.update(saved)
        self.assertEqual(service.asked[0].headers["Authorization"], "Bearer from-env")

    def test_unix_socket(self) -> None:
        with tempfile.TemporaryDirectory() as directory:
            with Service(ran(stdout="hi"), unix=os.path.join(directory, "s")) as service:
                self.assertEqual(CodeSandbox(url=service.url).execute("x").stdout, "hi")

    def test_success(self) -> None:
        files = [{"name": "a", "content": "text"}, {"name": "b", "content": {"base64": "/wA="}}]
        with Service(ran(stdout="4\n", stderr={"base64": "/wA="}, files=files)) as service:
            r = CodeSandbox(url=service.url).execute("print(2+2)")
        self.assertTrue(r.success)
        self.assertEqual((r.stdout, r.stderr, r.stderr_bytes), ("4\n", "\ufffd\0", b"\xff\0"))
        self.assertEqual((r.exit_code, r.execution_time, r.timeout, r.error_message), (0, 1.5, False, None))
        self.assertEqual((r.container_id, r.language, r.verdict), ("run-1", "python", "ok"))
        self.assertEqual(r.timestamp, datetime(2026, 3, 1, 12, 0, 0, 123456, timezone.utc))
        self.assertEqual(r.files, {"a": b"text", "b": b"\xff\0"})
        self.assertEqual((r.usage.cpu_seconds, r.usage.memory_bytes, r.usage.processes, r.usage.wall_seconds), (0.02, None, 3, 1.5))

    def test_a_timeline(self) -> None:
        said = {"every_ns": 20000000, "memory": [1024, 4096], "cpu_ns": [10000000, 30000000], "pids": [1, 2]}
        with Service(ran(timeline=said)) as service:
            r = CodeSandbox(url=service.url).execute("x", timeline_seconds=0.02)
        self.assertEqual(service.asked[0].body["timeline"], {"every": "0.020000s"})
        self.assertEqual(r.timeline, Timeline(0.02, [1024, 4096], [0.01, 0.03], [1, 2]))
        with Service(ran()) as service:
            self.assertIsNone(CodeSandbox(url=service.url).execute("x").timeline)
        self.assertNotIn("timeline", service.asked[0].body)

    def test_a_timeline_that_is_none_is_refused(self) -> None:
        for said in ([], "x", {}, {"every_ns": 1}, {"every_ns": 1, "memory": 1, "cpu_ns": [], "pids": []}, {"every_ns": 1, "memory": [None], "cpu_ns": [], "pids": []}):
            with self.subTest(said), Service(ran(timeline=said)) as service:
                with self.assertRaises(InfraError) as raised:
                    CodeSandbox(url=service.url).execute("x")
                self.assertEqual(raised.exception.code, "bad-answer")

    def test_every_other_verdict_is_a_result(self) -> None:
        trace = "Traceback (most recent call last):\n  File \"/box/main.py\", line 1, in <module>\nNameError: name 'x' is not defined\n"
        for answer, code, timeout, message in (
            (ran("nonzero", exit_code=1, stderr=trace), 1, False, "NameError: name 'x' is not defined"),
            (ran("nonzero", exit_code=7), 7, False, "exited with code 7"),
            (ran("nonzero", exit_code=1, stderr="z", diagnosis={"type": "T", "message": "m"}), 1, False, "T: m"),
            (ran("wall-limit", exit_code=-1, signal=9), 124, True, "the time limit of 5s was exceeded"),
            (ran("cpu-limit", exit_code=-1, signal=9), 124, True, "the processor time limit of 2s was exceeded"),
            (ran("memory-limit", exit_code=-1, signal=9), 137, False, "the memory limit of 1048576 bytes was exceeded"),
            (ran("output-limit", exit_code=-1, signal=9), 153, False, "more than 16 bytes of output"),
            (ran("denied", exit_code=-1, signal=9, denial={"syscall": "ptrace"}), 159, False, "the system call ptrace is forbidden"),
            (ran("signaled", exit_code=-1, signal=11, signal_name="SIGSEGV"), 139, False, "killed by SIGSEGV"),
            (ran("compile-error", stage="compile", exit_code=1, stderr="a.c:1:2: error: x\n"), 1, False, "a.c:1:2: error: x"),
            (ran("canceled", exit_code=-1, signal=9), 130, False, "the run was canceled"),
            (ran("canceled", exit_code=-1, signal=9, session_ended="it was deleted"), 130, False, "its session has ended: it was deleted"),
        ):
            with self.subTest(message), Service(answer) as service:
                r = CodeSandbox(url=service.url).execute("x")
                self.assertEqual((r.success, r.exit_code, r.timeout, r.error_message), (False, code, timeout, message))

    def test_an_answer_that_is_no_result_is_never_one(self) -> None:
        for body in (b"", b"hello", b"[]", b"null", b"{}", b'{"verdict": ""}', b'{"verdict": null}', b'{"verdict": "ok", "stdout": {"base64": "*"}}', b'{"verdict": "ok", "stdout": 4}'):
            with self.subTest(body), Service(Answer(200, body)) as service:
                with self.assertRaises(InfraError) as raised:
                    CodeSandbox(url=service.url).execute("x")
                self.assertEqual((raised.exception.code, len(service.asked)), ("bad-answer", 1))

    def test_tls_where_there_is_none_is_named(self) -> None:
        with Service(ran("ok")) as service:
            with self.assertRaises(InfraError) as raised:
                CodeSandbox(url=service.url.replace("http:", "https:")).execute("x")
            self.assertIn("write http://", str(raised.exception))
            self.assertEqual((raised.exception.code, raised.exception.retry_safe), ("gateway-unreachable", False))

    def test_a_url_is_no_limits(self) -> None:
        url: Any = "http://127.0.0.1:8080"
        with self.assertRaisesRegex(TypeError, r"CodeSandbox\(url="):
            CodeSandbox(url)

    def test_what_is_no_text_is_a_type_error(self) -> None:
        with Service(ran("ok")) as service:
            box = CodeSandbox(url=service.url)
            wrong: Any = 5
            calls: List[Callable[[], object]] = [
                lambda: box.execute(wrong),
                lambda: box.execute("x", stdin=wrong),
                lambda: box.run_tests("x", [{"stdin": "1", "expected": wrong}]),
            ]
            for do in calls:
                with self.assertRaisesRegex(TypeError, "(code|stdin|expected) is 5: write str or bytes"):
                    do()
            for one in ("print(1)", {"code": "x"}):
                items: Any = one
                with self.assertRaisesRegex(TypeError, "list of items"):
                    box.execute_many(items)
            self.assertEqual(len(service.asked), 0)
