"""Invalid answers: each raises an InfraError, in bounded time and memory."""

import socket
import threading
import time
import unittest
from typing import Any, Callable, Tuple
from unittest import mock

from brig_sandbox import CodeSandbox, InfraError, SandboxError, _http

from .service import Answer, Service, problem, ran

DEEP = b"[" * 200_000 + b"]" * 200_000


class Raw:
    """Sends the same bytes to every client that connects and sends a request."""

    def __init__(self, *pieces: bytes, pause: float = 0) -> None:
        self._pieces = pieces
        self._pause = pause  # seconds before each
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self._thread = threading.Thread(target=self._serve)

    def _serve(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            with client:
                try:
                    client.recv(1 << 16)
                    for piece in self._pieces:
                        time.sleep(self._pause)
                        client.sendall(piece)
                    client.shutdown(socket.SHUT_WR)
                    while client.recv(1 << 16):
                        pass
                except OSError:
                    pass  # the client has read enough

    def __enter__(self) -> "Raw":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join()


def execute(box: CodeSandbox) -> Any:
    return box.execute("x")


class Hostile(unittest.TestCase):
    def fails(self, url: str, ask: Callable[[CodeSandbox], Any], code: str = "bad-answer") -> SandboxError:
        with self.assertRaises(InfraError) as raised:
            ask(CodeSandbox(url=url, retries=0))
        self.assertEqual((raised.exception.code, raised.exception.retry_safe), (code, False), raised.exception)
        return raised.exception

    def test_json_that_is_none(self) -> None:
        for body in (DEEP, b'{"verdict": "ok", "exit_code": NaN}', b'{"verdict": "ok", "signal": Infinity}', b"-Infinity", b"9" * 5000, b"\xff\xfe", b'"\\ud800', b"{}", b"null", b"[]"):
            with self.subTest(body[:40]), Service(Answer(200, body)) as service:
                self.fails(service.url, execute)

    def test_fields_of_another_kind(self) -> None:
        one: Tuple[Tuple[str, Any], ...] = (
            ("signal", "x"),
            ("exit_code", [1]),
            ("exit_code", 1e999),
            ("timing", [1]),
            ("timing", {"wall_ns": "long"}),
            ("timing", {"wall_ns": {"value": 1}}),
            ("usage", "much"),
            ("usage", {"cpu_ns": {"value": "x"}}),
            ("files", 1),
            ("files", [{"content": ""}]),
            ("files", ["x"]),
            ("stdout", 1),
            ("stdout", {"base64": "?"}),
            ("diagnosis", "x"),
            ("diagnosis", {"line": "x"}),
            ("summary", ["x"]),
        )
        for field, value in one:
            answer = ran(**{field: value})
            if value == 1e999:
                answer = Answer(200, b'{"verdict": "ok", "exit_code": 1e999}')
            with self.subTest(field, value=value), Service(answer) as service:
                self.fails(service.url, execute)
        failed: Tuple[Tuple[str, str, Any], ...] = (("nonzero", "refused", 1), ("nonzero", "refused", ["x"]), ("wall-limit", "limits", [1]), ("denied", "denial", "x"))
        for verdict, field, value in failed:
            with self.subTest(field, value=value), Service(ran(verdict, **{field: value})) as service:
                self.fails(service.url, execute)

    def test_lists_of_another_kind(self) -> None:
        asks: Tuple[Tuple[Any, Callable[[CodeSandbox], Any]], ...] = (
            ([1], lambda b: b.list_sessions()),
            ([1], lambda b: b.list_volumes()),
            ([{"name": "v", "size": "x"}], lambda b: b.list_volumes()),
            (["x"], lambda b: b.list_supported_languages()),
            ([{}], lambda b: b.list_supported_languages()),
            ([{}], lambda b: b.cleanup_all_containers()),
            ([], lambda b: b.get_execution_history()),
            ({"items": ["x"]}, lambda b: b.get_execution_history()),
            ({"items": [{"exit_code": "x"}]}, lambda b: b.get_execution_history()),
            ("x", lambda b: b.get_resource_usage("r")),
            ({"result": [1]}, lambda b: b.get_resource_usage("r")),
            ("x", lambda b: b.explain("r")),
            ({"verdict": "ok", "tests": [1], "summary": {}}, lambda b: b.run_tests("x", [("", "")])),
            ({"verdict": "ok", "tests": 1, "summary": {}}, lambda b: b.run_tests("x", [("", "")])),
            ({"session_id": "s", "files": ["x"]}, lambda b: b.get_session("s").list_files()),
            ({"session_id": "s", "files": [{"name": "a", "size": "x"}]}, lambda b: b.get_session("s").list_files()),
            ({"session_id": "s", "usage": 1}, lambda b: b.get_session("s").usage()),
        )
        for i, (said, ask) in enumerate(asks):
            body = said if not isinstance(said, str) else b'"x"'
            with self.subTest(i, said=said), Service(Answer(200, body)) as service:
                self.fails(service.url, ask)

    def test_a_history_without_end(self) -> None:
        with Service(Answer(200, {"items": [], "next": "again"})) as service:
            self.assertEqual(CodeSandbox(url=service.url).get_execution_history(), [])
            self.assertEqual(len(service.asked), 1)

    def test_errors_in_a_form_that_is_not_known(self) -> None:
        for status, body in ((500, DEEP), (500, b'{"detail": NaN}'), (429, b'{"errors": [[1]], "detail": {"a": 1}}'), (301, DEEP)):
            with self.subTest(body[:40]), Service(Answer(status, body)) as service:
                e = self.fails(service.url, execute, f"http-{status}")
                self.assertEqual(e.status, status)
        for after in ("nan", "inf", "1e999", "-5", "Mon, 01 Jan 99999 00:00:00 GMT", "Thu, 01 Jan 0001 00:00:00 +2359", "\x00"):
            with self.subTest(after), Service(problem(503, "busy", True, ("Retry-After", after))) as service:
                with self.assertRaises(InfraError):
                    CodeSandbox(url=service.url, retries=1, patience=0.01).execute("x")

    def test_lengths_that_are_no_lengths(self) -> None:
        head = b"HTTP/1.1 200 OK\r\n"
        for answer, code in (
            (head + b"Content-Length: 1000000000000000000\r\n\r\n{}", "gateway-gone"),
            (head + b"Content-Length: 10000000000000000000000\r\n\r\n{}", "gateway-gone"),
            (head + b"Content-Length: 3\r\n\r\n{}", "gateway-gone"),
            (head + b"Transfer-Encoding: chunked\r\n\r\nffffffffffffff\r\n{}", "gateway-gone"),
            (head + b"Transfer-Encoding: chunked\r\n\r\n" + b"f" * 60000 + b"\r\n{}", "gateway-gone"),
            (head + b"Transfer-Encoding: chunked\r\n\r\n-5\r\n{}", "bad-answer"),
            (head + b"Transfer-Encoding: chunked\r\n\r\nx\r\n{}", "gateway-gone"),
        ):
            with self.subTest(answer[:90]), Raw(answer) as service:
                self.fails(service.url, execute, code)

    def test_answers_without_end(self) -> None:
        flood = [b"a" * (1 << 16)] * 64
        with mock.patch.object(_http, "_MOST", 1 << 20):
            for head in (
                b"HTTP/1.1 200 OK\r\n\r\n",
                b"HTTP/1.1 500 no\r\n\r\n",
                b"HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\n",
                b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n",
                b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nfffffff\r\n",
                b"HTTP/1.1 100 Continue\r\n\r\n" * 50_000,
            ):
                with self.subTest(head[:90]), Raw(head, *flood) as service:
                    e = self.fails(service.url, execute)
                    self.assertIn("more than 1 MiB", str(e))
            # The control: an answer just below the limit is read.
            with Service(ran(stdout="a" * 1_000_000)) as service:
                self.assertEqual(len(CodeSandbox(url=service.url).execute("x").stdout), 1_000_000)

    def test_answers_that_never_come_to_an_end(self) -> None:
        # Each piece arrives within the timeout of a single read.
        for pieces in (
            [b"HTTP/1.1 100 Continue\r\n\r\n"] * 40,
            [b"HTTP/1.1 200 OK\r\nX: ", *[b"x"] * 40],
            [b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n", *[b" "] * 40],
            [b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", *[b"1\r\nx\r\n"] * 40],
        ):
            with self.subTest(pieces[0]), Raw(*pieces, pause=0.1) as service:
                began = time.monotonic()
                with self.assertRaises(InfraError) as raised:
                    CodeSandbox(url=service.url, retries=0, answer_timeout=0.5).execute("x")
                self.assertEqual(raised.exception.code, "gateway-timeout")
                self.assertLess(time.monotonic() - began, 2)
        # The control: an answer in pieces that is complete in time is read.
        body = b'{"verdict": "ok", "stdout": "slow"}'
        whole = (b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body), body[:9], body[9:])
        with Raw(*whole, pause=0.1) as service:
            self.assertEqual(CodeSandbox(url=service.url, answer_timeout=10).execute("x").stdout, "slow")
