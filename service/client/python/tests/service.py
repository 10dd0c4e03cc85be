"""A fake service for tests: it gives the configured answers and records the requests."""

from __future__ import annotations

import json
import os
import socket
import socketserver
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Tuple


class Asked(NamedTuple):
    method: str
    path: str
    headers: Dict[str, str]
    body: Any


class Answer(NamedTuple):
    status: int
    body: Any
    headers: Tuple[Tuple[str, str], ...] = ()


DROP = Answer(0, None)  # the connection is closed without an answer


def ran(verdict: str = "ok", **more: Any) -> Answer:
    """The service's answer for a run."""
    said: Dict[str, Any] = {
        "run_id": "run-1",
        "verdict": verdict,
        "stage": "run",
        "exit_code": 0,
        "stdout": "",
        "stderr": "",
        "limits_hit": [],
        "usage": {"cpu_ns": {"value": 20000000, "source": "wait4"}, "memory_bytes": {"value": None, "source": "nobody looked"}, "pids_peak": {"value": 3, "source": "pids.peak"}},
        "timing": {"queued_ns": 0, "wall_ns": 1500000000, "started": "2026-03-01T12:00:00.123456789Z"},
        "limits": {"wall": "5s", "cpu": "2s", "memory": 1048576, "output": 16},
    }
    said.update(more)
    return Answer(200, said)


def problem(status: int, code: str, retry_safe: bool, *headers: Tuple[str, str]) -> Answer:
    said = {"type": "about:blank", "title": "x", "status": status, "detail": f"the text of {code}", "code": code, "retry_safe": retry_safe}
    return Answer(status, said, (("Content-Type", "application/problem+json"), *headers))


class _Quiet(socketserver.BaseServer):
    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exc_info()[1], OSError):  # a client that hung up is no fault of the test
            super().handle_error(request, client_address)


class _UnixServer(_Quiet, socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True


class _Server(_Quiet, ThreadingHTTPServer):
    request_queue_size = 128  # with the default of 5, connections of many threads at once are reset


class Service:
    """answers are given in order, and the last one repeatedly; or a function returns each answer.

    keeps: connections stay open after an answer; otherwise each has one request
    """

    def __init__(self, *answers: Answer, decide: Optional[Callable[[Asked], Answer]] = None, unix: str = "", port: int = 0, keeps: bool = False) -> None:
        self.asked: List[Asked] = []
        self.connections = 0  # that were made
        self._open: List[Any] = []
        self._answers = list(answers)
        self._decide = decide
        self._lock = threading.Lock()
        service = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1" if keeps else "HTTP/1.0"
            timeout = 60

            def setup(self) -> None:
                super().setup()
                with service._lock:
                    service.connections += 1
                    service._open.append(self.connection)

            def _serve(self) -> None:
                length = int(self.headers.get("Content-Length") or 0)
                raw = self.rfile.read(length)
                answer = service._answer(Asked(self.command, self.path, dict(self.headers), json.loads(raw) if raw and self.headers.get("Content-Type") == "application/json" else raw or None))
                if answer.status == 0:
                    self.close_connection = True
                    return
                body = answer.body if isinstance(answer.body, bytes) else b"" if answer.body is None else json.dumps(answer.body).encode()
                self.send_response(answer.status)
                for name, value in answer.headers:
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            do_GET = do_POST = do_PUT = do_DELETE = _serve

            def log_message(self, *_: Any) -> None:
                pass

            def address_string(self) -> str:
                return "client"

        self._server: socketserver.BaseServer
        if unix:
            self._server = _UnixServer(unix, Handler)
            self.url = "unix://" + os.path.abspath(unix)
        else:
            self._server = _Server(("127.0.0.1", port), Handler)
            self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))

    def _answer(self, asked: Asked) -> Answer:
        with self._lock:
            self.asked.append(asked)
            if self._decide is None:
                return self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        return self._decide(asked)

    def __enter__(self) -> Service:
        self._thread.start()
        return self

    def hang_up(self) -> None:
        """Ends all connections, as a service that stops."""
        with self._lock:
            connections, self._open = self._open, []
        for connection in connections:
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass  # it has ended already

    def __exit__(self, *_: object) -> None:
        self.hang_up()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
