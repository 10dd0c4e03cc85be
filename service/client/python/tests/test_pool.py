"""Connections that are kept."""

import gc
import os
import time
import unittest
import warnings
from concurrent.futures import ThreadPoolExecutor
from unittest import mock

from brig_sandbox import CodeSandbox, InfraError

from .service import DROP, Answer, Service, problem, ran


class Pool(unittest.TestCase):
    def test_one_connection_serves_many_requests(self) -> None:
        with Service(ran(stdout="a"), problem(400, "bad-request", False), ran(), keeps=True) as service, CodeSandbox(url=service.url) as box:
            for n in range(20):
                try:
                    box.execute("x")
                except Exception:
                    self.assertEqual(n, 1)
            self.assertEqual((len(service.asked), service.connections), (20, 1))

    def test_threads_make_no_more_than_they_use_at_a_time(self) -> None:
        with Service(ran(), keeps=True) as service, CodeSandbox(url=service.url) as box:
            with ThreadPoolExecutor(5) as pool:
                list(pool.map(lambda _: box.execute("x"), range(60)))
            self.assertEqual(len(service.asked), 60)
            self.assertLessEqual(service.connections, 5)

    def test_a_service_that_closes_idle_connections_is_no_failure(self) -> None:
        with Service(ran(), keeps=True) as service, CodeSandbox(url=service.url, retries=0) as box:
            for _ in range(3):
                self.assertTrue(box.execute("x").success)
                service.hang_up()
            self.assertEqual((len(service.asked), service.connections), (3, 3))

    def test_a_connection_that_ends_as_the_request_is_sent(self) -> None:
        """The client sees the connection open, and the service closes it without having read: only what is harmless is sent again."""
        with Service(ran(), DROP, ran(), DROP, ran(), keeps=True) as service, CodeSandbox(url=service.url, retries=0) as box:
            box.execute("x")
            self.assertTrue(box.execute("x").success)
            self.assertEqual((len(service.asked), service.connections), (3, 2))
            with self.assertRaises(InfraError) as raised:
                box.execute("x", network_enabled=True)
            self.assertEqual((raised.exception.code, raised.exception.phase, raised.exception.retry_safe), ("gateway-gone", "judge", False))
            self.assertEqual(len(service.asked), 4)

    def test_what_must_not_be_sent_twice_takes_no_old_connection(self) -> None:
        with Service(Answer(200, {"session_id": "s", **ran().body}), keeps=True) as service, CodeSandbox(url=service.url) as box:
            session = box.create_session()
            session.run(["true"])
            self.assertEqual(service.connections, 1)
            later = time.monotonic() + 10
            with mock.patch("brig_sandbox._pool.time", mock.Mock(monotonic=lambda: later)):
                session.run(["true"])
                self.assertEqual(service.connections, 2)
                box.execute("x")
                self.assertEqual(service.connections, 2)
            much_later = later + 60
            with mock.patch("brig_sandbox._pool.time", mock.Mock(monotonic=lambda: much_later)):
                box.execute("x")
            self.assertEqual(service.connections, 3)

    def test_a_cut_answer_leaves_no_connection(self) -> None:
        with Service(ran(), Answer(200, b"{", (("Content-Length", "5"),)), ran(), keeps=True) as service, CodeSandbox(url=service.url, answer_timeout=0.2, retries=0) as box:
            box.execute("x")
            with self.assertRaises(InfraError):
                box.execute("x")
            self.assertTrue(box.execute("x").success)
            self.assertEqual(service.connections, 2)

    def test_close_and_go_on(self) -> None:
        with Service(ran(), keeps=True) as service:
            box = CodeSandbox(url=service.url)
            for _ in range(2):
                with box:
                    box.execute("x")
            self.assertEqual(service.connections, 2)

    @unittest.skipUnless(hasattr(os, "fork"), "there are no forks here")
    def test_a_child_uses_connections_of_its_own(self) -> None:
        with Service(ran(), keeps=True) as service, CodeSandbox(url=service.url) as box:
            box.execute("x")
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DeprecationWarning)  # of a fork next to threads: the child does nothing else
                child = os.fork()
            if child == 0:
                ended = 1
                try:
                    ended = 0 if box.execute("x").success else 1
                finally:
                    os._exit(ended)
            self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 0)
            box.execute("x")
            self.assertEqual((len(service.asked), service.connections), (3, 2))

    def test_nothing_is_left_of_a_client_that_is_gone(self) -> None:
        with Service(ran(), keeps=True) as service:
            box = CodeSandbox(url=service.url)
            box.execute("x")
            pool = box._http._pool
            ((connection, _),) = pool._kept[box._http.addresses[0]]
            self.assertIsNotNone(connection.sock)
            del box, pool
            gc.collect()
            self.assertIsNone(connection.sock)
