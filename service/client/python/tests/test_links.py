import asyncio
import unittest
from typing import Any, Dict, Optional, Tuple

from brig_sandbox import AsyncCodeSandbox, CodeSandbox, LinkedRun, RequestError, RunLink

from .service import Answer, Service, problem

MADE = {"link_id": "l1", "run_id": "r/1", "token": "t-1", "path": "/ui/link/t-1", "show": ["tests"], "title": "A", "created": "2026-03-01T12:00:00Z", "expires": "2026-03-08T12:00:00Z"}
LISTED = {name: value for name, value in MADE.items() if name not in ("token", "path")}
SEEN = {"state": "done", "title": "A", "created": "2026-03-01T12:00:00Z", "expires": "2026-03-08T12:00:00Z", "verdict": "ok", "answer": "wrong-answer", "tests": 3, "outcomes": "WWW", "source": {"base64": "/w=="}}


class Links(unittest.TestCase):
    def check_link(self, link: RunLink) -> None:
        self.assertEqual((link.id, link.run_id, link.token, link.path, link.show, link.title, (link.expires - link.created).days), ("l1", "r/1", "t-1", "/ui/link/t-1", ["tests"], "A", 7))

    def check_seen(self, seen: LinkedRun) -> None:
        self.assertEqual((seen.state, seen.outcome, seen.tests, seen.accepted, seen.outcomes, seen.ahead, seen.source), ("done", "wrong-answer", 3, 0, "WWW", None, b"\xff"))

    def test_a_link_is_made_listed_read_and_revoked(self) -> None:
        with Service(Answer(201, MADE), Answer(200, {"items": [LISTED]}), Answer(200, SEEN), Answer(204, None), problem(404, "not-found", False)) as service:
            box = CodeSandbox(url=service.url)
            self.check_link(box.link_run("r/1", ["tests"], title="A", life_seconds=3600))
            self.assertEqual([(one.id, one.token) for one in box.run_links("r/1")], [("l1", "")])
            self.check_seen(box.linked_run("t-1"))
            box.revoke_link("r/1", "l1")
            with self.assertRaises(RequestError) as raised:
                box.linked_run("t-1")
            self.assertEqual(raised.exception.code, "not-found")
        self.assertEqual([(a.method, a.path) for a in service.asked[:4]], [("POST", "/v1/runs/r%2F1/links"), ("GET", "/v1/runs/r%2F1/links"), ("GET", "/v1/links/t-1"), ("DELETE", "/v1/runs/r%2F1/links/l1")])
        self.assertEqual(service.asked[0].body, {"show": ["tests"], "title": "A", "lives": "3600.000000s"})

    def test_the_same_asynchronously(self) -> None:
        async def all_of_it(url: str) -> Any:
            async with AsyncCodeSandbox(url=url) as box:
                self.check_link(await box.link_run("r/1"))
                self.assertEqual([one.id for one in await box.run_links("r/1")], ["l1"])
                self.check_seen(await box.linked_run("t-1"))
                await box.revoke_link("r/1", "l1")

        with Service(Answer(201, MADE), Answer(200, {"items": [LISTED]}), Answer(200, SEEN), Answer(204, None)) as service:
            asyncio.run(all_of_it(service.url))
        self.assertEqual(service.asked[0].body, {"show": []})

    def test_outcomes(self) -> None:
        base = {"created": SEEN["created"], "expires": SEEN["expires"]}
        asked: Tuple[Tuple[Dict[str, Any], str, Optional[int]], ...] = (
            ({"state": "queued", "ahead": 3}, "", 3),
            ({"state": "done", "verdict": "cpu-limit", "answer": "wrong-answer"}, "cpu-limit", None),
            ({"state": "done", "not_judged": True}, "error", None),
            ({"state": "done", "verdict": "ok"}, "ok", None),
        )
        for said, outcome, ahead in asked:
            seen = LinkedRun.of({**base, **said})
            self.assertEqual((seen.outcome, seen.ahead, seen.accepted), (outcome, ahead, None))
