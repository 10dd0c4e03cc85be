"""HTTP transport: one connection per request, distinct errors, retries only if they are safe, and waiting while the service is full."""

from __future__ import annotations

import http.client
import io
import json
import random
import socket
import ssl
import time
from contextlib import contextmanager
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any, Dict, Iterator, Mapping, Optional, Tuple
from urllib.parse import urlencode, urlsplit

from ._errors import InfraError, RequestError, SandboxError
from ._version import __version__

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

Query = Mapping[str, Any]  # empty and false values are left out

# The hints for 401.
_NO_KEY = "set api_key= of CodeSandbox, or BRIG_API_KEY in the environment"
_BAD_KEY = "the key comes from api_key=, or from BRIG_API_KEY in the environment"


# The most bytes that are read of one answer, with its headers: more than a service with default
# limits sends for one run.
_MOST = 1 << 30
_PIECE = 1 << 20  # bytes per read: a length that is only announced uses no memory


class _TooLong(Exception):
    """An answer has more than _MOST bytes."""


class _Bounded(io.RawIOBase):
    """Reads at most a fixed number of bytes from a connection, all within one timeout.

    A socket's timeout applies to each read, so a server that sends a byte from time to time would never exceed it.
    """

    def __init__(self, raw: io.RawIOBase, sock: socket.socket, most: int) -> None:
        self._raw = raw
        self._sock = sock
        self._left = most
        timeout = sock.gettimeout()
        self._until = None if timeout is None else time.monotonic() + timeout

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> Optional[int]:
        if self._until is not None:
            left = self._until - time.monotonic()
            if left <= 0:
                raise socket.timeout("timed out")
            self._sock.settimeout(left)
        count = self._raw.readinto(buffer)
        self._left -= count or 0
        if self._left < 0:
            raise _TooLong
        return count

    def close(self) -> None:
        self._raw.close()
        super().close()


class _Response(http.client.HTTPResponse):
    """A response with a limit in bytes and in time for all of it: headers, chunks and body."""

    def __init__(self, sock: socket.socket, debuglevel: int = 0, method: Optional[str] = None, url: Optional[str] = None) -> None:
        super().__init__(sock, debuglevel, method, url)
        self.fp = io.BufferedReader(_Bounded(self.fp.detach(), sock, _MOST))

    def whole(self) -> bytes:
        pieces = []
        while piece := self.read(_PIECE):
            pieces.append(piece)
        if self.length:  # read(amount) does not report missing bytes
            raise http.client.IncompleteRead(b"", self.length)
        return b"".join(pieces)


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: str, timeout: float) -> None:
        super().__init__("localhost", timeout=timeout)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


class Transport:
    """Sends requests to one service. Safe for use by many threads: they share nothing.

    It does not follow redirects, because they would forward the key.
    """

    def __init__(self, url: str, key: Optional[str], *, timeout: float, retries: int, patience: float, room: float, away: float, context: Optional[ssl.SSLContext]) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https", "unix") or not (parts.hostname or parts.scheme == "unix" and parts.path):
            raise ValueError(f"url {url!r}: write http://host:port, https://host or unix:///path/of/socket")
        if key is not None and not all("!" <= c <= "~" for c in key):
            raise ValueError("the key has a character that keys cannot have")
        self.url = url
        self._parts = parts
        self._key = key
        self._timeout = timeout
        self.retries = retries
        self.patience = patience  # the longest wait between two tries, in seconds
        self.room = room  # the longest time that a request is retried while the service is full, in seconds
        self.away = away  # the longest time that a batch waits for a service that does not answer, in seconds
        self._context = context

    def call(self, method: str, path: str, body: Optional[Mapping[str, Any]] = None, query: Optional[Query] = None, *, stays: bool = False) -> Any:
        """The JSON of a 2xx answer; None if it has no body.

        stays: the request has lasting effects, so a request that failed halfway is not sent again.
        """
        data = None if body is None else json.dumps(body).encode()
        return self._parsed(self._tries(method, path, data, "application/json", query, stays))

    def send(self, method: str, path: str, data: bytes) -> Any:
        """Sends bytes and returns the JSON of a 2xx answer."""
        return self._parsed(self.transfer(method, path, data))

    def _parsed(self, answer: bytes) -> Any:
        if not answer:
            return None
        try:
            return json.loads(answer, parse_constant=_no_number)
        except (ValueError, RecursionError, MemoryError) as e:
            raise InfraError(f"the answer of {self.url} is not JSON: is this a brig service?", code="bad-answer") from e

    def transfer(self, method: str, path: str, data: Optional[bytes] = None, query: Optional[Query] = None) -> bytes:
        """Sends bytes and returns the bytes of a 2xx answer."""
        return self._tries(method, path, data, "application/octet-stream", query, False)

    def _tries(self, method: str, path: str, data: Optional[bytes], kind: str, query: Optional[Query], stays: bool) -> bytes:
        chosen = {k: v for k, v in (query or {}).items() if v}
        target = path + "?" + urlencode(chosen) if chosen else path
        until = time.monotonic() + self.room
        full = failed = 0  # the number of answers that the service is full, and of failures
        while True:
            try:
                return self._once(method, target, data, kind)
            except InfraError as e:
                if e.status == 429 and e.retry_safe:
                    wait = self.wait_for_room(e, full, until)
                    full += 1
                else:
                    wait = self.wait_after(e, failed, stays)
                    failed += 1
                if wait is None:
                    raise
                time.sleep(wait)

    def wait_for_room(self, e: InfraError, attempt: int, until: float) -> Optional[float]:
        """Seconds until a retry while the service is full; None: the time is over, and the error says what to do.

        A full service is not a failure: a program that sends too many requests at once is
        delayed, for at most room_timeout.
        """
        if e.retry_after is not None and e.retry_after > self.patience:
            return None
        # Requests that were refused at the same time should not be retried at the same time.
        wait: float = max(e.retry_after or 0.0, min(self.patience, 5.0, 0.1 * 2.0 ** min(attempt, 10))) * random.uniform(1, 1.5)
        if time.monotonic() + wait <= until:
            return wait
        if self.room > 0:
            cure = f"the service was full for {self.room:g} s: use fewer threads, wait longer with CodeSandbox(room_timeout=...), or have the operator raise brig serve --queue"
            e.message = f"{e.message}: {cure}"
        return None

    def wait_after(self, e: InfraError, attempt: int, stays: bool = False) -> Optional[float]:
        """Seconds until the next try after a failure; None: no further try."""
        if not e.retry_safe or attempt >= self.retries or stays and e.status not in (0, 503):
            return None
        if e.retry_after is not None:
            return e.retry_after if e.retry_after <= self.patience else None
        return float(min(self.patience, 0.1 * 2**attempt) * random.uniform(0.5, 1))

    def _connection(self) -> http.client.HTTPConnection:
        if self._parts.scheme == "unix":
            return _UnixConnection(self._parts.path, self._timeout)
        host = self._parts.hostname or ""
        if self._parts.scheme == "https":
            context = self._context or ssl.create_default_context()
            return http.client.HTTPSConnection(host, self._parts.port, timeout=self._timeout, context=context)
        return http.client.HTTPConnection(host, self._parts.port, timeout=self._timeout)

    @contextmanager
    def opened(self, silence: float) -> Iterator[http.client.HTTPConnection]:
        """A connection for a long answer, which breaks after so many seconds without a byte."""
        connection = self._connection()
        connection.timeout = silence
        try:
            yield connection
        finally:
            connection.close()

    def asked(self, connection: http.client.HTTPConnection, method: str, target: str, data: Optional[bytes], headers: Mapping[str, str]) -> http.client.HTTPResponse:
        """The begun answer to a request, which is not read. An answer that is not 2xx is raised as its error."""
        sent = {"User-Agent": "brig-sandbox-python/" + __version__, **headers}
        if self._key is not None:
            sent["Authorization"] = "Bearer " + self._key
        prefix = "" if self._parts.scheme == "unix" else self._parts.path.rstrip("/")
        broken: Optional[OSError] = None
        try:
            connection.request(method, prefix + target, data, sent)
        except (BrokenPipeError, ConnectionResetError) as e:  # a service that refuses a long body answers without reading it all
            broken = e
        response = connection.getresponse()
        if not 200 <= response.status < 300:
            raise problem(response.status, dict(response.headers.items()), response.read(_PIECE), "" if response.status != 401 else _NO_KEY if self._key is None else _BAD_KEY)
        if broken is not None:
            raise broken
        return response

    def _once(self, method: str, target: str, data: Optional[bytes], kind: str) -> bytes:
        connection = self._connection()
        connection.response_class = _Response
        try:
            try:
                connection.connect()
            except ssl.SSLError as e:  # nothing was sent; it is an OSError too
                cure = "if the server does not use TLS, write http://"
                if isinstance(e, ssl.SSLCertVerificationError):
                    cure = "trust the certificate: set SSL_CERT_FILE to it, or pass ssl_context"
                raise InfraError(f"the TLS handshake with {self.url} failed: {e}: {cure}", code="gateway-unreachable", retry_safe=False) from e
            except OSError as e:  # nothing was sent
                raise InfraError(f"cannot connect to {self.url}: {e}: is brig serve running?", code="gateway-unreachable", retry_safe=True) from e
            # Once something was sent, only a GET may be retried silently: it is unknown whether a
            # run was started.
            try:
                status, headers, answer = self._exchange(connection, method, target, data, kind)
            except socket.timeout as e:
                raise InfraError(f"no answer from {self.url} in {self._timeout:g} s", code="gateway-timeout", retry_safe=False) from e
            except _TooLong as e:
                raise InfraError(f"the answer of {self.url} has more than {_MOST >> 20} MiB: request less output or fewer files", code="bad-answer") from e
            except (OSError, http.client.HTTPException) as e:
                raise InfraError(f"the connection to {self.url} broke during the request: {e!r}", code="gateway-gone", retry_safe=method == "GET") from e
        finally:
            connection.close()
        if not 200 <= status < 300:
            raise problem(status, headers, answer, "" if status != 401 else _NO_KEY if self._key is None else _BAD_KEY)
        return answer

    def _exchange(self, connection: http.client.HTTPConnection, method: str, target: str, data: Optional[bytes], kind: str) -> Tuple[int, Mapping[str, str], bytes]:
        headers = {"Accept": kind + ", application/problem+json", "User-Agent": "brig-sandbox-python/" + __version__}
        if data is not None:
            headers["Content-Type"] = kind
        if self._key is not None:
            headers["Authorization"] = "Bearer " + self._key
        prefix = "" if self._parts.scheme == "unix" else self._parts.path.rstrip("/")
        try:
            connection.request(method, prefix + target, data, headers)
        except (BrokenPipeError, ConnectionResetError):
            pass  # a service that refuses a long body answers without reading it all
        try:
            response = connection.getresponse()
            assert isinstance(response, _Response)
            with response:  # it may own the connection by now, which close would then not end
                return response.status, dict(response.headers.items()), response.whole()
        except (ValueError, ArithmeticError, MemoryError) as e:  # such as a chunk of -5 bytes
            raise InfraError(f"the answer of {self.url} is not HTTP: {e!r:.200}", code="bad-answer") from e


def problem(status: int, headers: Mapping[str, str], answer: bytes, cure: str = "") -> SandboxError:
    """The error for an answer that is not 2xx (in RFC 9457 format, or from a proxy), with cure as its hint."""
    said: Dict[str, Any] = {}
    try:
        parsed = json.loads(answer, parse_constant=_no_number)
        if isinstance(parsed, dict):
            said = parsed
    except (ValueError, RecursionError, MemoryError):
        pass
    ours = status >= 500 or status == 429 or status < 400
    message = said.get("detail") or said.get("message") or said.get("title") or f"the service answers {status}{_plain(answer)}"
    errors = said.get("errors")  # invalid fields, each with its location
    if isinstance(errors, list):
        for e in errors:
            if isinstance(e, dict) and e.get("message"):
                message = f"{message}; {e.get('location', '')}: {e['message']}"
    return (InfraError if ours else RequestError)(
        f"{message} ({cure})" if cure else str(message),
        code=str(said.get("code") or f"http-{status}"),
        status=status,
        retry_safe=said.get("retry_safe") is True,
        retry_after=_retry_after(next((v for k, v in headers.items() if k.lower() == "retry-after"), None)),
        run_id=str(said.get("run_id") or ""),
        session_id=str(said.get("session_id") or ""),
    )


def _plain(answer: bytes) -> str:
    """A plain text line instead of a problem document, such as the answer of a TLS server to a request without TLS."""
    text = answer.strip()
    if not text or len(text) > 200 or text[:1] in b"<{[" or not text.isascii() or not text.decode().isprintable():
        return ""
    return ": " + text.decode()


def _retry_after(value: Optional[str]) -> Optional[float]:
    if value is None:
        return None
    try:
        return max(0.0, float(value))
    except ValueError:
        pass
    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - time.time())
    except (TypeError, ValueError, ArithmeticError, LookupError):
        return None


def _no_number(name: str) -> Any:
    """Refuses NaN and Infinity, which Python's parser accepts but JSON does not have."""
    raise ValueError(f"{name} is not JSON")
