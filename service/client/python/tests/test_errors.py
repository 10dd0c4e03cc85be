import socket
import threading
import time
import unittest
from concurrent.futures import ThreadPoolExecutor
from unittest import mock

from brig_sandbox import CodeSandbox, InfraError, RequestError

from .service import DROP, Answer, Asked, Service, problem, ran


def unused() -> str:
    """An address without a listener."""
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{s.getsockname()[1]}"


class Clock:
    """Stands in for the module time: a sleep takes no time, and nothing else takes any."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


class Errors(unittest.TestCase):
    def test_refusals_are_not_tried_again(self) -> None:
        for status, code in ((400, "bad-request"), (403, "forbidden"), (404, "unknown-language"), (413, "too-large"), (422, "bad-limits")):
            with self.subTest(code), Service(problem(status, code, False)) as service:
                with self.assertRaises(RequestError) as raised:
                    CodeSandbox(url=service.url).execute("x")
                e = raised.exception
                self.assertEqual((e.code, e.status, e.retry_safe, e.message, len(service.asked)), (code, status, False, f"the text of {code}", 1))

    def test_who_has_no_key_learns_where_it_goes(self) -> None:
        for key, text in ((None, "set api_key= of CodeSandbox"), ("wrong", "the key comes from api_key=")):
            with self.subTest(key), Service(problem(401, "unauthorized", False)) as service:
                with self.assertRaisesRegex(RequestError, rf"the text of unauthorized \({text}, .*BRIG_API_KEY in the environment\) \[unauthorized\]"):
                    CodeSandbox(url=service.url, api_key=key).execute("x")
                self.assertEqual(len(service.asked), 1)

    def test_a_line_of_text_is_told(self) -> None:
        for body, text in (
            (b"Client sent an HTTP request to an HTTPS server.\n", "the service answers 400: Client sent an HTTP request to an HTTPS server. [http-400]"),
            (b"<html>a proxy's</html>", "the service answers 400 [http-400]"),
            (b"two\nlines", "the service answers 400 [http-400]"),
            (b"", "the service answers 400 [http-400]"),
        ):
            with self.subTest(body), Service(Answer(400, body)) as service:
                with self.assertRaises(RequestError) as raised:
                    CodeSandbox(url=service.url).execute("x")
                self.assertEqual(str(raised.exception), text)

    def test_the_place_of_a_mistake_is_told(self) -> None:
        said = {"detail": "validation failed", "code": "bad-request", "errors": [{"location": "body.limits", "message": "too much"}]}
        with Service(Answer(422, said)) as service, self.assertRaisesRegex(RequestError, r"validation failed; body.limits: too much \[bad-request\]"):
            CodeSandbox(url=service.url).execute("x")

    def test_failures_are_tried_again_only_where_that_is_safe(self) -> None:
        for answer, tries in (
            (problem(503, "busy", True), 4),
            (problem(429, "bad", False, ("Retry-After", "0")), 1),
            (problem(429, "busy", True, ("Retry-After", "60")), 1),  # longer than patience
            (problem(500, "internal", True), 4),
            (problem(500, "internal", False), 1),
            (problem(502, "agent-gone", False), 1),
            (Answer(502, b"<html>a proxy's</html>"), 1),
            (Answer(503, {"code": "busy", "retry_safe": "yes"}), 1),
        ):
            with self.subTest(answer), Service(answer) as service:
                with self.assertRaises(InfraError) as raised:
                    CodeSandbox(url=service.url, patience=0.02).execute("x")
                self.assertEqual(len(service.asked), tries)
                self.assertEqual(raised.exception.status, answer.status)
                self.assertTrue(raised.exception.code)

    def test_a_failure_that_passes_is_not_seen(self) -> None:
        with Service(problem(503, "busy", True, ("Retry-After", "0.01")), problem(500, "internal", True), ran(stdout="late")) as service:
            self.assertEqual(CodeSandbox(url=service.url).execute("x").stdout, "late")
            self.assertEqual([a.body for a in service.asked], [service.asked[0].body] * 3)

    def test_room_is_waited_for_until_a_deadline(self) -> None:
        full = problem(429, "queue-full", True, ("Retry-After", "0"))
        with Service(*[full] * 12, ran(stdout="at last")) as service:
            self.assertEqual(CodeSandbox(url=service.url, retries=0, patience=0.01).execute("x").stdout, "at last")
            self.assertEqual(len(service.asked), 13)
        clock = Clock()
        with Service(full) as service, mock.patch("brig_sandbox._http.time", clock):
            with self.assertRaises(InfraError) as raised:
                CodeSandbox(url=service.url, patience=0.02, room_timeout=0.3).execute("x")
        self.assertTrue(0.27 <= clock.now <= 0.3, clock.now)
        self.assertTrue(11 <= len(service.asked) <= 16, len(service.asked))
        self.assertEqual((raised.exception.code, raised.exception.status, raised.exception.retry_safe), ("queue-full", 429, True))
        self.assertIn("the text of queue-full: the service was full for 0.3 s: use fewer threads, wait longer with CodeSandbox(room_timeout=...), or have the operator raise brig serve --queue", str(raised.exception))
        with Service(full) as service:
            with self.assertRaisesRegex(InfraError, r"^the text of queue-full \[queue-full\]$"):
                CodeSandbox(url=service.url, room_timeout=0).execute("x")
            self.assertEqual(len(service.asked), 1)

    def test_more_threads_than_room_is_no_failure(self) -> None:
        """A queue of 2 and 24 threads: every request is answered, and none gets an error."""
        room, lock, now = 2, threading.Lock(), [0]

        def decide(_: Asked) -> Answer:
            with lock:
                if now[0] == room:
                    return problem(429, "queue-full", True, ("Retry-After", "0"))
                now[0] += 1
            time.sleep(0.005)
            with lock:
                now[0] -= 1
            return ran()

        with Service(decide=decide) as service:
            box = CodeSandbox(url=service.url, patience=0.05)
            with ThreadPoolExecutor(24) as pool:
                results = list(pool.map(lambda _: box.execute("x"), range(100)))
        self.assertEqual([r.success for r in results], [True] * 100)

    def test_retry_after_is_waited_for(self) -> None:
        with Service(problem(429, "busy", True, ("Retry-After", "0.2")), ran()) as service:
            began = time.monotonic()
            CodeSandbox(url=service.url).execute("x")
            self.assertGreaterEqual(time.monotonic() - began, 0.2)

    def test_nobody_answers(self) -> None:
        with self.assertRaises(InfraError) as raised:
            CodeSandbox(url=unused(), patience=0.01).execute("x")
        self.assertEqual((raised.exception.code, raised.exception.retry_safe, raised.exception.status), ("gateway-unreachable", True, 0))

    def test_a_service_that_comes_up_late_is_reached(self) -> None:
        url, started = unused(), []
        timer = threading.Timer(0.05, lambda: started.append(Service(ran(stdout="up"), port=int(url.rpartition(":")[2])).__enter__()))
        timer.start()
        try:
            self.assertEqual(CodeSandbox(url=url, retries=1000, patience=0.02).execute("x").stdout, "up")
        finally:
            timer.join()
            for service in started:
                service.__exit__()

    def test_a_run_that_may_have_begun_is_not_sent_again(self) -> None:
        with Service(DROP, ran()) as service:
            with self.assertRaises(InfraError) as raised:
                CodeSandbox(url=service.url).execute("x")
        self.assertEqual((raised.exception.code, raised.exception.retry_safe, len(service.asked)), ("gateway-gone", False, 1))

    def test_a_question_is_asked_again(self) -> None:
        with Service(DROP, Answer(200, [{"name": "c"}])) as service:
            self.assertEqual(CodeSandbox(url=service.url).list_supported_languages(), ["c"])

    def test_an_answer_that_does_not_come(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as silent:
            box = CodeSandbox(url=f"http://127.0.0.1:{silent.getsockname()[1]}", answer_timeout=0.1)
            with self.assertRaises(InfraError) as raised:
                box.execute("x")
        self.assertEqual((raised.exception.code, raised.exception.retry_safe), ("gateway-timeout", False))

    def test_the_key_follows_no_redirect(self) -> None:
        with Service(ran()) as elsewhere, Service(Answer(307, None, (("Location", elsewhere.url + "/v1/runs"),))) as service:
            with self.assertRaises(InfraError):
                CodeSandbox(url=service.url, api_key="secret").execute("x")
            self.assertEqual(elsewhere.asked, [])

    def test_addresses_and_keys_that_are_none(self) -> None:
        for url in ("ftp://x", "127.0.0.1:8080", "http://", "unix://"):
            with self.assertRaises(ValueError, msg=url):
                CodeSandbox(url=url)
        for key in ("a b", "a\r\nX: y", "ü"):
            with self.assertRaises(ValueError, msg=key):
                CodeSandbox(api_key=key)
