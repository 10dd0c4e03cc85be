import contextlib
import io
import json
import math
import unittest
from typing import Any, Dict, List
from unittest import mock

from brig_sandbox import BatchProgress, CodeSandbox, InfraError, Job, RequestError, ResourceLimits

from .service import DROP, Answer, Asked, Service, problem

LINES = (("Content-Type", "application/x-ndjson"), ("Location", "/v1/batches/b1"))


def done(id: str, score: float) -> Dict[str, Any]:
    return {"id": id, "index": int(id), "status": "done", "score": score, "verdict": "ok", "answer": "accepted" if score == 1 else "wrong-answer", "digest": "d"}


def failed(id: str, status: str, code: str, retry_safe: bool) -> Dict[str, Any]:
    return {"id": id, "index": int(id), "status": status, "digest": "d", "error": {"code": code, "message": f"the text of {code}", "retry_safe": retry_safe}}


def lines(*all: Dict[str, Any], end: bool = True, **more: Any) -> Answer:
    said: List[Any] = list(all)
    if end:
        said.append({"end": True, "batch_id": "b1", "state": "done", "jobs": len(all), **more})
    return Answer(200, b"\n" + b"".join(json.dumps(one).encode() + b"\n" for one in said), LINES)


JOBS = [Job("print(1)", [("", "1")], meta={"n": 1}), Job("x"), Job("y", language="c"), Job("z")]


class Batch(unittest.TestCase):
    def test_what_is_sent_and_what_comes_of_it(self) -> None:
        with Service(lines(failed("2", "refused", "unknown-language", False), done("0", 1), done("1", 0.25), failed("3", "error", "poison", True))) as service:
            box = CodeSandbox(ResourceLimits(memory_limit="64m"), url=service.url, project="p")
            got = {r.index: r for r in box.grade_many(JOBS)}
        self.assertEqual(service.asked[0].path, "/v1/batches?wait=true")
        sent = [json.loads(line) for line in service.asked[0].body.splitlines()]
        self.assertEqual(sent[0], {"defaults": {"limits": ResourceLimits(memory_limit="64m").to_api()}, "keep": "summary", "labels": {"project": "p"}})
        self.assertEqual(sent[1], {"id": "0", "language": "python", "source": "print(1)", "tests": [{"id": "1", "expected": "1"}], "meta": {"n": 1}})
        self.assertEqual([(i, got[i].status, got[i].score, got[i].done) for i in range(4)], [(0, "done", 1.0, True), (1, "done", 0.25, True), (2, "refused", None, False), (3, "error", None, False)])
        self.assertIsInstance(got[2].error, RequestError)
        self.assertIsInstance(got[3].error, InfraError)
        self.assertIsNone(got[0].error)

    def test_jobs_name_stored_problems(self) -> None:
        with Service(lines(done("0", 1), done("1", 0))) as service:
            box = CodeSandbox(url=service.url)
            self.assertEqual(box.score_many([Job("x", problem="sum"), Job("y", problem="sha256:ab", language="cpp")]), ([1.0, 0.0], [True, True]))
            for bad in (Job("x", [("", "1")], problem="sum"), Job("x", stdin="1", problem="sum"), Job("x", output_file="out.txt", problem="sum")):
                with self.assertRaises(ValueError):
                    box.score_many([bad])
        sent = [json.loads(line) for line in service.asked[0].body.splitlines()[1:]]
        self.assertEqual(sent, [{"id": "0", "language": "python", "source": "x", "problem": "sum"}, {"id": "1", "language": "cpp", "source": "y", "problem": "sha256:ab"}])

    def test_jobs_name_their_files(self) -> None:
        job = Job("x", [{"stdin": "1", "files": {"words": "a"}}], input_file="input.txt", output_file="output.txt")
        self.assertEqual(job.to_api(0), {"id": "0", "language": "python", "source": "x", "input_file": "input.txt", "output_file": "output.txt", "tests": [{"id": "1", "stdin": "1", "files": [{"name": "words", "content": "a"}]}]})

    def test_a_job_that_was_not_judged_is_masked_and_never_zero(self) -> None:
        for status in ("refused", "error", "canceled"):
            with Service(lines(done("3", 0), failed("0", status, "x", True), done("1", 0.5))) as service:
                scores, mask = CodeSandbox(url=service.url).score_many(JOBS)
            self.assertEqual(mask, [False, True, False, True])
            self.assertEqual((scores[1], scores[3]), (0.5, 0.0))
            self.assertTrue(math.isnan(scores[0]) and math.isnan(scores[2]), scores)

    def test_a_broken_connection_goes_on_where_it_was(self) -> None:
        with Service(DROP, lines(done("0", 1), done("2", 1), end=False), DROP, lines(done("1", 0), done("3", 1))) as service:
            with self.assertLogs("brig_sandbox", "WARNING") as said:
                got = [r.index for r in CodeSandbox(url=service.url).grade_many(JOBS)]
        self.assertEqual(got, [0, 2, 1, 3])
        self.assertEqual(len(said.output), 2, said.output)
        self.assertEqual([a.path for a in service.asked], ["/v1/batches?wait=true"] * 2 + ["/v1/batches/b1/results?after=2&follow=true"] * 2)
        keys = {a.headers.get("Idempotency-Key") for a in service.asked[:2]}
        self.assertEqual(len(keys), 1)
        self.assertTrue(keys.pop())

    def test_a_full_service_is_asked_again_and_a_refusal_is_raised(self) -> None:
        with Service(problem(429, "batches-full", True, ("Retry-After", "0")), lines(done("0", 1))) as service:
            self.assertEqual(CodeSandbox(url=service.url).score_many(JOBS[:1]), ([1.0], [True]))
        with Service(problem(422, "unsupported", False)) as service:
            with self.assertRaises(RequestError):
                CodeSandbox(url=service.url).score_many(JOBS)
        with Service(DROP) as service:
            with self.assertRaises(InfraError):
                CodeSandbox(url=service.url, away_timeout=0).score_many(JOBS)
        self.assertEqual(len(service.asked), 1)

    def test_jobs_that_were_not_taken_are_an_error_after_the_results(self) -> None:
        with Service(lines(done("0", 1), error={"code": "batches-full", "message": "full", "retry_safe": True})) as service:
            got = []
            with self.assertRaises(InfraError) as raised:
                for r in CodeSandbox(url=service.url).grade_many(JOBS):
                    got.append(r.index)
        self.assertEqual((got, raised.exception.code), ([0], "batches-full"))

    def test_bad_jobs_and_bad_answers(self) -> None:
        box = CodeSandbox(url="http://127.0.0.1:9")
        with self.assertRaises(ValueError):
            list(box.grade_many([Job("a", id="x"), Job("b", id="x")]))
        self.assertEqual(box.score_many([]), ([], []))
        zero: Dict[str, Any] = {**failed("0", "error", "x", True), "score": 0}
        unknown: List[Dict[str, Any]] = [zero, {"id": "0", "status": "done"}, {"id": "0"}]
        for bad in unknown:
            with Service(lines(bad)) as service:
                with self.assertRaises(InfraError, msg=bad) as raised:
                    CodeSandbox(url=service.url).score_many(JOBS)
            self.assertEqual(raised.exception.code, "bad-answer")


class Away(unittest.TestCase):
    """A service that is away for a while, and the clock of the client. No test waits."""

    def setUp(self) -> None:
        self.now = 1000.0
        self.waits: List[float] = []

        def sleep(seconds: float) -> None:
            self.waits.append(seconds)
            self.now += seconds

        clock = mock.patch("brig_sandbox._following.time", mock.Mock(monotonic=lambda: self.now, sleep=sleep))
        clock.start()
        self.addCleanup(clock.stop)

    def test_a_minute_is_survived_and_is_not_silent(self) -> None:
        for away in (DROP, Answer(502, b"bad gateway"), problem(503, "stopping", True)):
            self.waits.clear()
            until = self.now + 60

            def decide(asked: Asked) -> Answer:
                return away if self.now < until else lines(done("0", 1), done("1", 0), done("2", 1), done("3", 1))

            with Service(decide=decide) as service:
                with self.assertLogs("brig_sandbox", "WARNING") as said:
                    scores, mask = CodeSandbox(url=service.url).score_many(JOBS)
            self.assertEqual((scores, mask), ([1.0, 0.0, 1.0, 1.0], [True] * 4))
            self.assertEqual(len(said.output), 1, said.output)
            self.assertLess(len(self.waits), 25, self.waits)

    def test_it_ends_and_names_phase_and_batch(self) -> None:
        with self.assertLogs("brig_sandbox", "WARNING"), self.assertRaises(InfraError) as raised:
            CodeSandbox(url="http://127.0.0.1:9", away_timeout=60).score_many(JOBS)
        self.assertEqual((raised.exception.phase, raised.exception.batch_id, raised.exception.code), ("connect", "", "gateway-unreachable"))
        self.assertRegex(str(raised.exception), r"while connecting \(0 of 4 results\): .* was away for \d+ s.*away_timeout")
        self.assertLessEqual(sum(self.waits), 60)
        self.assertGreater(sum(self.waits), 50)

        with Service(DROP) as service:
            with self.assertLogs("brig_sandbox", "WARNING"), self.assertRaises(InfraError) as raised:
                CodeSandbox(url=service.url, away_timeout=1).score_many(JOBS)
        self.assertEqual((raised.exception.phase, raised.exception.code), ("send", "gateway-gone"))

        with Service(lines(done("2", 1), end=False), DROP) as service:
            got = []
            with self.assertLogs("brig_sandbox", "WARNING"), self.assertRaises(InfraError) as raised:
                for r in CodeSandbox(url=service.url, away_timeout=1).grade_many(JOBS):
                    got.append(r.index)
        self.assertEqual((got, raised.exception.phase, raised.exception.batch_id), ([2], "judge", "b1"))
        self.assertIn("while waiting for results (1 of 4 results, batch b1)", str(raised.exception))

    def test_a_refusal_has_its_phase_and_is_not_repeated(self) -> None:
        with Service(problem(422, "unsupported", False)) as service:
            with self.assertRaises(RequestError) as raised:
                CodeSandbox(url=service.url).score_many(JOBS)
        self.assertEqual((raised.exception.phase, len(service.asked)), ("send", 1))

    def test_the_same_jobs_with_a_key_are_the_same_batch(self) -> None:
        with Service(lines(done("0", 1), done("1", 0), done("2", 1), done("3", 1))) as service:
            box = CodeSandbox(url=service.url)
            for key, jobs in (("step 1", JOBS), ("step 1", JOBS), ("step 2", JOBS), ("step 1", JOBS[:3]), ("", JOBS), ("", JOBS)):
                box.score_many(jobs, key=key)
        keys = [a.headers["Idempotency-Key"] for a in service.asked]
        self.assertEqual(keys[0], keys[1])
        self.assertEqual(len(set(keys)), 5)

    def test_a_batch_is_attached_to_by_its_id(self) -> None:
        with Service(lines(done("2", 1), end=False), lines(done("0", 0.5))) as service:
            with self.assertLogs("brig_sandbox", "WARNING"):
                got = [(r.index, r.score) for r in CodeSandbox(url=service.url).attach("b1")]
        self.assertEqual(got, [(2, 1.0), (0, 0.5)])
        self.assertEqual([(a.method, a.path) for a in service.asked], [("GET", "/v1/batches/b1/results?after=0&follow=true"), ("GET", "/v1/batches/b1/results?after=1&follow=true")])
        with Service(problem(404, "not-found", False)) as service:
            with self.assertRaises(RequestError) as raised:
                list(CodeSandbox(url=service.url).attach("gone"))
        self.assertEqual((raised.exception.phase, raised.exception.batch_id), ("judge", "gone"))
        with self.assertRaises(ValueError):
            CodeSandbox().attach("")

    def test_progress(self) -> None:
        seen: List[BatchProgress] = []
        with Service(DROP, lines(done("0", 1), failed("1", "error", "poison", True))) as service:
            with self.assertLogs("brig_sandbox", "WARNING"):
                list(CodeSandbox(url=service.url).grade_many(JOBS[:2], progress=seen.append))
        self.assertEqual([(p.phase, p.batch_id, p.results, p.failed) for p in seen], [("send", "", 0, 0), ("judge", "b1", 0, 0), ("judge", "b1", 1, 0), ("judge", "b1", 2, 1)])
        self.assertEqual(str(BatchProgress("b1", "judge", 4, 2, 1, 12.3, 7.0)), "brig: 2 of 4 jobs, 1 not judged, 12 s; the service is away since 7 s")
        self.assertEqual(str(BatchProgress("b1", "judge", 0, 2, 0, 1.0, 0.0)), "brig: 2 jobs, 1 s")
        with Service(lines(done("0", 1), done("1", 1))) as service:
            said = io.StringIO()
            with contextlib.redirect_stderr(said):
                CodeSandbox(url=service.url).score_many(JOBS[:2], progress=True)
        self.assertEqual(said.getvalue(), "brig: 0 of 2 jobs, 0 s\nbrig: 2 of 2 jobs, 0 s\n")
