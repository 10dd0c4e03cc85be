import re
import unittest
from pathlib import Path

from brig_sandbox import CodeSandbox, InfraError, RequestError, SandboxError
from brig_sandbox._phases import _OF_CODE, ALL, phase_of

from .service import Answer, Service, problem

_API = Path(__file__).parents[4] / "api"


class Phases(unittest.TestCase):
    def test_each_failure_names_its_phase(self) -> None:
        for status, code, phase in (
            (429, "queue-full", "queue"),
            (503, "waited-too-long", "queue"),
            (503, "stopping", "queue"),
            (503, "image-damaged", "image"),
            (503, "set-up-timeout", "set-up"),
            (503, "host-memory", "run"),
            (502, "agent-gone", "run"),
            (500, "internal", "judge"),
            (503, "a code of tomorrow", "queue"),
        ):
            with self.subTest(code), Service(problem(status, code, True)) as service, self.assertRaises(InfraError) as raised:
                CodeSandbox(url=service.url, retries=0, room_timeout=0).execute("x")
            self.assertEqual((raised.exception.phase, raised.exception.retry_safe), (phase, True))
        for status, code, phase in ((400, "bad-file", "copy-in"), (422, "check-failed", "checker"), (422, "packages-failed", "image"), (400, "bad-request", "")):
            with self.subTest(code), Service(problem(status, code, False)) as service, self.assertRaises(RequestError) as refused:
                CodeSandbox(url=service.url).execute("x")
            self.assertEqual(refused.exception.phase, phase)

    def test_what_the_service_tells_counts_most(self) -> None:
        for told, phase in (("compile", "compile"), ("copy-out", "copy-out"), ("elsewhere", "judge"), (5, "judge")):
            with self.subTest(told), Service(Answer(500, {"code": "internal", "detail": "x", "phase": told})) as service, self.assertRaises(SandboxError) as raised:
                CodeSandbox(url=service.url).execute("x")
            self.assertEqual(raised.exception.phase, phase)

    @unittest.skipUnless(_API.is_dir(), "the API is not here")
    def test_each_code_of_the_service_has_a_phase_or_is_of_the_request(self) -> None:
        text = "".join((_API / name).read_text() for name in ("errors.go", "problem.go"))
        codes = set(re.findall(r'Code = "([a-z-]+)"', text)) | set(re.findall(r'^\tCode\w+ +Code += "([a-z-]+)"', text, re.MULTILINE))
        self.assertGreater(len(codes), 45)
        of_the_request = {"bad-request", "bad-limits", "above-ceiling", "unknown-language", "unknown-profile", "bad-profile", "unknown-problem", "bad-problem", "forbidden", "not-found", "session-ended", "unauthorized", "check-refused", "conflict", "batch-closed"}
        self.assertEqual({c for c in codes if c not in _OF_CODE} - {"internal"}, of_the_request)
        for code in codes:
            self.assertIn(phase_of(code, 503), ALL)
