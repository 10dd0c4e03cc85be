import asyncio
import unittest
from typing import Any, Dict

from brig_sandbox import AsyncCodeSandbox, CodeSandbox, InfraError, PathChange, RequestError, Snapshot

from .service import Answer, Service, problem

MADE = Answer(201, {"session_id": "s1", "state": "idle", "language": "python"})
OTHER = Answer(201, {"session_id": "s2", "state": "idle", "language": "python"})
SAVED: Dict[str, Any] = {
    "snapshot_id": "sha256:1",
    "name": "ready",
    "base": "sha256:2",
    "language": "python",
    "files": 3,
    "bytes": 4,
    "stored_bytes": 5,
    "created": "2026-11-30T00:00:00Z",
    "expires": "2026-12-07T00:00:00Z",
}
LINES = b'{"path":"/box/x","change":"modified","kind":"file","mode":420,"size":2}\n{"path":"/box/d","change":"added","kind":"directory","mode":493,"size":0}\n'


class Snapshots(unittest.TestCase):
    def test_all_that_is_sent(self) -> None:
        made = Answer(201, {**SAVED, "frozen": False, "left_out": [{"name": "/box/f", "reason": "a FIFO"}]})
        with Service(MADE, made, OTHER, Answer(200, LINES), Answer(200, {"files": 3, "bytes": 4}), Answer(200, {"items": [SAVED]}), Answer(204, None)) as service:
            box = CodeSandbox(url=service.url)
            s = box.create_session()
            saved = s.snapshot("ready", paths=["/box/x"], life_seconds=60)
            fork = box.create_session(snapshot="ready")
            changes = fork.diff("ready")
            taken = fork.take(s.id, ["/box/x"])
            listed = box.list_snapshots()
            box.delete_snapshot("sha256:1")
        self.assertEqual((saved.id, saved.name, saved.files, saved.stored, saved.frozen, saved.left_out), ("sha256:1", "ready", 3, 5, False, {"/box/f": "a FIFO"}))
        self.assertEqual(changes, [PathChange("/box/x", "modified", "file", 0o644, 2), PathChange("/box/d", "added", "directory", 0o755, 0)])
        self.assertEqual(taken, 3)
        self.assertEqual(listed, [Snapshot("sha256:1", "ready", "python", "sha256:2", 3, 4, 5, SAVED["created"], SAVED["expires"])])
        self.assertEqual(
            [(a.method, a.path, a.body) for a in service.asked],
            [
                ("POST", "/v1/sessions", {"language": "python"}),
                ("POST", "/v1/sessions/s1/snapshots", {"name": "ready", "paths": ["/box/x"], "life": "60.000000s"}),
                ("POST", "/v1/sessions", {"snapshot": "ready"}),
                ("GET", "/v1/sessions/s2/diff?since=ready", None),
                ("POST", "/v1/sessions/s2/take", {"from": "s1", "paths": ["/box/x"]}),
                ("GET", "/v1/snapshots", None),
                ("DELETE", "/v1/snapshots/sha256%3A1", None),
            ],
        )

    def test_for_asyncio(self) -> None:
        async def work(url: str) -> None:
            async with AsyncCodeSandbox(url=url) as box:
                s = await box.create_session()
                self.assertEqual((await s.snapshot()).id, "sha256:1")
                self.assertEqual([c.path for c in await s.diff()], ["/box/x", "/box/d"])
                self.assertEqual(await s.take(s.id, ["/box"]), 3)
                self.assertEqual([one.name for one in await box.list_snapshots()], ["ready"])
                await box.delete_snapshot("ready")

        with Service(MADE, Answer(201, SAVED), Answer(200, LINES), Answer(200, {"files": 3}), Answer(200, {"items": [SAVED]}), Answer(204, None)) as service:
            asyncio.run(work(service.url))

    def test_what_is_wrong(self) -> None:
        with Service(MADE, problem(404, "not-found", False), Answer(200, b"no json\n"), Answer(201, {})) as service:
            box = CodeSandbox(url=service.url, patience=0.02)
            s = box.create_session()
            with self.assertRaises(RequestError):
                s.snapshot()
            with self.assertRaises(InfraError):
                s.diff()
            with self.assertRaises(InfraError):
                s.snapshot()
            with self.assertRaises(TypeError):
                s.take(s.id, "/box")


if __name__ == "__main__":
    unittest.main()
