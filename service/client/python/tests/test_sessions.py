import unittest

from brig_sandbox import CodeSandbox, FileInfo, InfraError, RequestError, ResourceLimits, SandboxError, Session, Volume

from .service import DROP, Answer, Asked, Service, problem, ran

MADE = Answer(201, {"session_id": "s1", "state": "idle", "language": "python"})
GONE = Answer(204, None)


def session(service: Service) -> Session:
    """A session object that is made without a request."""
    return Session(CodeSandbox(url=service.url, patience=0.02)._http, MADE.body)


class Sessions(unittest.TestCase):
    def test_the_least_that_is_sent(self) -> None:
        with Service(MADE, ran(stdout="4\n"), GONE) as service:
            with CodeSandbox(url=service.url).create_session() as s:
                self.assertEqual((s.id, s.language, s.raw["state"]), ("s1", "python", "idle"))
                r = s.execute("print(2 + 2)")
        self.assertEqual((r.success, r.stdout, r.language), (True, "4\n", "python"))
        self.assertEqual(
            [(a.method, a.path, a.body) for a in service.asked],
            [
                ("POST", "/v1/sessions", {"language": "python"}),
                ("POST", "/v1/sessions/s1/exec", {"source": "print(2 + 2)"}),
                ("DELETE", "/v1/sessions/s1", None),
            ],
        )

    def test_directories_as_tars(self) -> None:
        with Service(MADE, Answer(204, None), Answer(200, b"packed")) as service:
            s = CodeSandbox(url=service.url).create_session()
            s.put_tar("/app/ü", b"tar")
            self.assertEqual(s.get_tar("/app"), b"packed")
        self.assertEqual(
            [(a.method, a.path) for a in service.asked[1:]],
            [("PUT", "/v1/sessions/s1/fs/tar?path=%2Fapp%2F%C3%BC"), ("GET", "/v1/sessions/s1/fs/tar?path=%2Fapp")],
        )

    def test_all_that_is_sent(self) -> None:
        with Service(MADE, ran("nonzero", exit_code=3)) as service:
            box = CodeSandbox(url=service.url, project="p", task="t")
            limits = ResourceLimits(memory_limit="64m", memory_swap="96m", timeout_seconds=2)
            volume = Volume(size="64m", shared=True)
            s = box.create_session(image="tiny", task="u", limits=limits, volume=volume, env_vars={"A": "1"}, read_only=False, own_image=True, idle_seconds=60, life_seconds=90.5)
            r = s.run(["cat", "-"], stdin=b"\xff", env_vars={"B": "2"}, timeout_seconds=2, memory_limit="32m")
            s.execute("x", ["a", "b"], timeline_seconds=1)
        self.assertEqual((r.exit_code, r.success), (3, False))
        self.assertEqual(
            [a.body for a in service.asked],
            [
                {
                    "image": "tiny",
                    "exec_limits": {"wall": "2.000000s"},
                    "limits": {"memory": 64 << 20, "swap": 32 << 20, "cpus": 1.0, "weight": 1024, "pids": 100},
                    "labels": {"project": "p", "task": "u"},
                    "volume": {"size": 64 << 20, "shared": True},
                    "env": {"A": "1"},
                    "writable_root": True,
                    "own_image": True,
                    "idle": "60.000000s",
                    "life": "90.500000s",
                },
                {"argv": ["cat", "-"], "stdin": {"base64": "/w=="}, "env": {"B": "2"}, "limits": {"wall": "2.000000s", "memory": 32 << 20}},
                {"source": "x", "argv": ["a", "b"], "timeline": {"every": "1.000000s"}},
            ],
        )
        self.assertEqual(Volume(read_only=True).to_api(), {"read_only": True})

    def test_a_conflict_names_the_session(self) -> None:
        conflict = problem(409, "conflict", False)
        conflict.body["session_id"] = "first"
        with Service(conflict, Answer(200, {"session_id": "first", "language": "ruby"})) as service:
            box = CodeSandbox(url=service.url, project="p")
            with self.assertRaises(RequestError) as raised:
                box.create_session("ruby")
            self.assertEqual((raised.exception.code, raised.exception.status, raised.exception.session_id), ("conflict", 409, "first"))
            self.assertEqual(box.get_session(raised.exception.session_id).language, "ruby")
        self.assertEqual(service.asked[-1].path, "/v1/sessions/first")

    def test_files(self) -> None:
        listed = {"files": [{"name": "a/x", "kind": "file", "size": 2, "executable": True}, {"name": "a", "kind": "directory", "size": 0}], "skipped": [{"name": "b", "reason": "r"}], "more": True}
        with Service(GONE, Answer(200, b"\xff\x00"), Answer(200, listed), GONE) as service:
            s = session(service)
            s.put_file("a/\u00fc?%x", b"\xff\x00", executable=True)
            self.assertEqual(s.get_file("a/x"), b"\xff\x00")
            found = s.list_files("a", volume=True)
            s.delete_file("a/x", volume=True)
        self.assertEqual(list(found), [FileInfo("a/x", "file", 2, True), FileInfo("a", "directory", 0)])
        self.assertEqual((len(found), found.more, found.skipped), (2, True, ["b"]))
        self.assertEqual(
            [(a.method, a.path, a.body) for a in service.asked],
            [
                ("PUT", "/v1/sessions/s1/files/a/%C3%BC%3F%25x?executable=true", b"\xff\x00"),
                ("GET", "/v1/sessions/s1/files/a/x", None),
                ("GET", "/v1/sessions/s1/files?dir=a&volume=true", None),
                ("DELETE", "/v1/sessions/s1/files/a/x?volume=true", None),
            ],
        )
        self.assertEqual(service.asked[0].headers["Content-Type"], "application/octet-stream")

    def test_files_at_absolute_paths(self) -> None:
        listed = {
            "entries": [{"path": "/tmp/x", "kind": "file", "size": 2, "mode": 0o755}, {"path": "/tmp/d", "kind": "directory", "size": 0, "mode": 0o755}],
            "skipped": [{"name": "/tmp/s", "reason": "r"}],
            "next": "abc",
        }
        with Service(GONE, Answer(200, b"\xff\x00"), Answer(200, listed), GONE, GONE) as service:
            s = session(service)
            s.put_file("/tmp/\u00fc?%x\udcff", b"\xff\x00", executable=True)
            self.assertEqual(s.get_file("/tmp/x"), b"\xff\x00")
            found = s.list_files("/tmp")
            s.delete_file("/tmp/x")
            s.put_file("/tmp/x", "x")
            with self.assertRaises(RequestError) as raised:
                s.get_file("/tmp/x", volume=True)
            self.assertEqual(raised.exception.code, "bad-file")
        self.assertEqual(list(found), [FileInfo("/tmp/x", "file", 2, True), FileInfo("/tmp/d", "directory", 0)])
        self.assertEqual((found.more, found.skipped), (True, ["/tmp/s"]))
        self.assertEqual(
            [(a.method, a.path, a.body) for a in service.asked],
            [
                ("PUT", "/v1/sessions/s1/fs/content?path=%2Ftmp%2F%C3%BC%3F%25x%FF&mode=0755", b"\xff\x00"),
                ("GET", "/v1/sessions/s1/fs/content?path=%2Ftmp%2Fx", None),
                ("GET", "/v1/sessions/s1/fs/list?path=%2Ftmp", None),
                ("DELETE", "/v1/sessions/s1/fs?path=%2Ftmp%2Fx", None),
                ("PUT", "/v1/sessions/s1/fs/content?path=%2Ftmp%2Fx", b"x"),
            ],
        )

    def test_an_empty_file(self) -> None:
        with Service(GONE, Answer(200, b"")) as service:
            session(service).put_file("a", "")
            self.assertEqual(session(service).get_file("a"), b"")
        self.assertEqual(service.asked[0].headers["Content-Length"], "0")

    def test_names_that_lead_elsewhere_are_not_sent(self) -> None:
        with Service(GONE) as service:
            for name in ("", "..", "a/../b", "./a", "a//b", "a/"):
                with self.subTest(name), self.assertRaises(RequestError) as raised:
                    session(service).get_file(name)
                self.assertEqual(raised.exception.code, "bad-file")
            with self.assertRaises(TypeError):
                session(service).run("ls -l")
        self.assertEqual(service.asked, [])

    def test_what_an_exec_did_stays_so_it_is_not_done_twice(self) -> None:
        for answer, tries in (
            (problem(503, "busy", True), 4),
            (problem(500, "internal", True), 1),
            (problem(502, "agent-gone", False), 1),
            (DROP, 1),
        ):
            with self.subTest(answer), Service(answer) as service:
                with self.assertRaises(InfraError):
                    session(service).execute("x")
                self.assertEqual(len(service.asked), tries)

    def test_a_session_with_many_execs_is_waited_for(self) -> None:
        with Service(*[problem(429, "session-busy", True, ("Retry-After", "0"))] * 6, ran(stdout="late")) as service:
            self.assertEqual(session(service).execute("x").stdout, "late")
            self.assertEqual(len(service.asked), 7)

    def test_the_end(self) -> None:
        with Service(problem(410, "session-ended", False)) as service:
            with session(service) as s, self.assertRaises(RequestError) as raised:
                s.execute("x")
            self.assertEqual((raised.exception.code, raised.exception.status), ("session-ended", 410))
            s.delete()
        with Service(problem(500, "internal", False)) as service:
            with self.assertRaises(InfraError):
                with session(service):
                    pass
            with self.assertRaises(KeyError):  # it is raised before the error of the session
                with session(service):
                    raise KeyError("own")

    def test_usage(self) -> None:
        said = {"session_id": "s1", "usage": {"memory_bytes": {"value": 5, "source": "x"}, "memory_peak_bytes": {"value": None}, "cpu_ns": {"value": 1500000000}, "processes": {"value": 2}, "scratch_bytes": 7, "inodes": 3}}
        with Service(Answer(200, said)) as service:
            u = session(service).usage()
        self.assertEqual((u.memory_bytes, u.memory_peak_bytes, u.cpu_seconds, u.processes, u.scratch_bytes, u.inodes), (5, None, 1.5, 2, 7, 3))

    def test_lists(self) -> None:
        def decide(asked: Asked) -> Answer:
            if asked.method == "DELETE":
                return GONE
            return Answer(200, {"items": [{"name": "p q", "size": 16}] if "volumes" in asked.path else [{"session_id": "a"}, {"session_id": "b"}]})

        with Service(decide=decide) as service:
            box = CodeSandbox(url=service.url)
            self.assertEqual([s.id for s in box.list_sessions()], ["a", "b"])
            self.assertEqual(box.list_volumes(), {"p q": 16})
            box.delete_volume("p q")
        self.assertEqual(service.asked[-1].path, "/v1/volumes/p%20q")

    def test_an_answer_that_is_no_session_is_never_one(self) -> None:
        for body in (b"", b"[]", b"{}", b'{"session_id": ""}', b"x"):
            with self.subTest(body), Service(Answer(201, body)) as service, self.assertRaises(SandboxError) as raised:
                CodeSandbox(url=service.url).create_session()
            self.assertEqual(raised.exception.code, "bad-answer")
