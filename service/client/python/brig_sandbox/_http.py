"""HTTP transport: kept connections, distinct errors, retries only if they are safe, and waiting while the service is full."""

from __future__ import annotations

import copy
import http.client
import io
import socket
import ssl
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Iterator, List, Mapping, NamedTuple, Optional, Set, Tuple

from ._addresses import Address, Spread
from ._errors import InfraError
from ._pool import IDLE, IDLE_STAYS, Pool
from ._problem import parsed, problem
from ._request import Query, Request, bytes_request, json_request
from ._retrying import AWAY, Policy, Tries

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

# The most bytes that are read of one answer, with its headers: more than a service with default
# limits sends for one run.
_MOST = 1 << 30
_PIECE = 1 << 20  # bytes per read: a length that is only announced uses no memory


class TooLong(Exception):
    """An answer has more than _MOST bytes."""


class _Idle(Exception):
    """A kept connection had ended before the request: nothing of an answer came."""


class _Bounded(io.RawIOBase):
    """Reads at most a fixed number of bytes from a connection, all within one timeout.

    A socket's timeout applies to each read, so a server that sends a byte from time to time would never exceed it.
    """

    def __init__(self, raw: io.RawIOBase, sock: socket.socket, most: int) -> None:
        self._raw = raw
        self._sock = sock
        self._left = most
        self.some = False  # something came
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
        self.some = self.some or bool(count)
        if self._left < 0:
            raise TooLong
        return count

    def close(self) -> None:
        self._raw.close()
        super().close()


class _Response(http.client.HTTPResponse):
    """A response with a limit in bytes and in time for all of it: headers, chunks and body."""

    def __init__(self, sock: socket.socket, debuglevel: int = 0, method: Optional[str] = None, url: Optional[str] = None) -> None:
        super().__init__(sock, debuglevel, method, url)
        self._bounded = _Bounded(self.fp.detach(), sock, _MOST)
        self.fp = io.BufferedReader(self._bounded)

    def begin(self) -> None:
        try:
            super().begin()
        except (ConnectionError, http.client.BadStatusLine) as e:
            if self._bounded.some:
                raise
            raise _Idle from e

    def whole(self) -> bytes:
        pieces = []
        while piece := self.read(_PIECE):
            pieces.append(piece)
        if self.length:  # read(amount) does not report missing bytes
            raise http.client.IncompleteRead(b"", self.length)
        return b"".join(pieces)


class Answer(NamedTuple):
    """A 2xx answer, and the address that gave it."""

    body: bytes
    address: Address


class Transport:
    """Sends requests to the addresses of a service. Safe for use by many threads: they share the kept connections.

    It does not follow redirects, because they would forward the key.
    """

    def __init__(self, addresses: List[Address], key: Optional[str], *, timeout: float, policy: Policy, context: Optional[ssl.SSLContext]) -> None:
        check_key(key)
        self.spread = Spread(addresses)
        self.policy = policy
        self.key = key
        self.timeout = timeout
        self.context = context
        self._pool = Pool(timeout, context)

    @property
    def addresses(self) -> List[Address]:
        return self.spread.addresses

    def only(self, what: str) -> Transport:
        """The transport, for what is about one service. Raises ValueError if there are several addresses."""
        if len(self.addresses) > 1:
            raise ValueError(f"{what} is about one service, and this client has {len(self.addresses)}: use one of box.each()")
        return self

    def at(self, address: Address) -> Transport:
        """A transport for one of the addresses, with the same connections."""
        if self.addresses == [address]:
            return self
        one = copy.copy(self)
        one.spread = Spread([address])
        return one

    def patient(self, until: Optional[float]) -> Transport:
        """A transport for one of many requests, with the same connections."""
        one = copy.copy(self)
        one.policy = self.policy.patient(until)
        return one

    def close(self) -> None:
        self._pool.close()

    def call(self, method: str, path: str, body: Optional[Mapping[str, Any]] = None, query: Optional[Query] = None, *, stays: bool = False) -> Any:
        """The JSON of a 2xx answer; None if it has no body.

        stays: the request has lasting effects, so a request that failed halfway is not sent again.
        """
        answer = self.ask(json_request(method, path, body, query, stays=stays))
        return parsed(answer.body, answer.address.url)

    def send(self, method: str, path: str, data: bytes) -> Any:
        """Sends bytes and returns the JSON of a 2xx answer."""
        answer = self.ask(bytes_request(method, path, data))
        return parsed(answer.body, answer.address.url)

    def transfer(self, method: str, path: str, data: Optional[bytes] = None, query: Optional[Query] = None) -> bytes:
        """Sends bytes and returns the bytes of a 2xx answer."""
        return self.ask(bytes_request(method, path, data, query)).body

    def ask(self, request: Request) -> Answer:
        """The 2xx answer to a request, after as many tries as are safe, at as many addresses as there are."""
        tries = Tries(self.policy, time.monotonic(), stays=request.stays, harmless=request.harmless)
        tried: Set[Address] = set()
        while True:
            seconds = self.policy.seconds(self.timeout, time.monotonic())
            address = self.spread.take(time.monotonic(), tried)
            try:
                answer = self._once(address, request, seconds)
                self.spread.welcome(address)
                return Answer(answer, address)
            except InfraError as e:
                tried.add(address)
                if e.code in ("gateway-unreachable", "gateway-gone") or e.status in AWAY:
                    self.spread.shun(address, time.monotonic())
                if len(tried) < len(self.addresses) and tries.again(e):
                    continue
                wait = tries.wait(e, time.monotonic())
                if wait is None:
                    raise
            finally:
                self.spread.give_back(address)
            tried.clear()
            time.sleep(wait)

    @contextmanager
    def opened(self, address: Address, silence: float) -> Iterator[http.client.HTTPConnection]:
        """A connection for a long answer, which breaks after so many seconds without a byte."""
        connection = self._pool.new(address)
        connection.timeout = silence
        try:
            yield connection
        finally:
            connection.close()

    def asked(self, address: Address, connection: http.client.HTTPConnection, request: Request, more: Optional[Mapping[str, str]] = None) -> http.client.HTTPResponse:
        """The begun answer to a request, which is not read. An answer that is not 2xx is raised as its error."""
        broken: Optional[OSError] = None
        try:
            connection.request(request.method, address.prefix + request.target, request.data, {**request.headers(self.key), **(more or {})})
        except (BrokenPipeError, ConnectionResetError) as e:  # a service that refuses a long body answers without reading it all
            broken = e
        response = connection.getresponse()
        if not 200 <= response.status < 300:
            raise problem(response.status, dict(response.headers.items()), response.read(_PIECE), has_key=self.key is not None)
        if broken is not None:
            raise broken
        return response

    def _once(self, address: Address, request: Request, seconds: float) -> bytes:
        kept = self._pool.take(address, IDLE_STAYS if request.stays else IDLE)
        if kept is not None:
            try:
                return self._over(address, kept, request, seconds)
            except _Idle as e:
                # The service closed the connection, most likely before the request came. Only what can
                # be sent twice is sent again: a run without network has no effect outside of its sandbox.
                if not request.harmless:
                    raise gone(address, request, e) from e
        connection = self._pool.new(address)
        try:
            connection.connect()
        except OSError as e:
            connection.close()
            raise unreachable(address, e) from e
        try:
            return self._over(address, connection, request, seconds)
        except _Idle as e:
            raise gone(address, request, e.__cause__ or e) from e

    def _over(self, address: Address, connection: http.client.HTTPConnection, request: Request, seconds: float) -> bytes:
        """The answer over a connection that is open, which is then kept or closed."""
        connection.response_class = _Response
        keep = False
        # Once something was sent, only a GET may be retried silently: it is unknown whether a
        # run was started.
        try:
            if connection.sock is not None:
                connection.sock.settimeout(seconds)
            status, headers, answer, keep = self._exchange(address, connection, request)
        except socket.timeout as e:
            raise timed_out(address, seconds, self.timeout) from e
        except TooLong as e:
            raise too_long(address, _MOST) from e
        except (OSError, http.client.HTTPException) as e:
            raise gone(address, request, e) from e
        finally:
            if keep:
                self._pool.keep(address, connection)
            else:
                connection.close()
        if not 200 <= status < 300:
            raise problem(status, headers, answer, has_key=self.key is not None)
        return answer

    def _exchange(self, address: Address, connection: http.client.HTTPConnection, request: Request) -> Tuple[int, Mapping[str, str], bytes, bool]:
        """Status, headers and body of the answer, and whether the connection can be used again."""
        whole = True
        try:
            connection.request(request.method, address.prefix + request.target, request.data, request.headers(self.key))
        except (BrokenPipeError, ConnectionResetError):
            whole = False  # a service that refuses a long body answers without reading it all
        try:
            response = connection.getresponse()
            assert isinstance(response, _Response)
            with response:  # it may own the connection by now, which close would then not end
                answer = response.whole()
                return response.status, dict(response.headers.items()), answer, whole and not response.will_close
        except (ValueError, ArithmeticError, MemoryError) as e:  # such as a chunk of -5 bytes
            raise not_http(address, e) from e


def check_key(key: Optional[str]) -> None:
    if key is not None and not all("!" <= c <= "~" for c in key):
        raise ValueError("the key has a character that keys cannot have")


def unreachable(address: Address, e: Exception) -> InfraError:
    """The error of a connection that was not made: nothing was sent."""
    if isinstance(e, ssl.SSLError):
        cure = "if the server does not use TLS, write http://"
        if isinstance(e, ssl.SSLCertVerificationError):
            cure = "trust the certificate: set SSL_CERT_FILE to it, or pass ssl_context"
        return InfraError(f"the TLS handshake with {address} failed: {e}: {cure}", code="gateway-unreachable", retry_safe=False)
    return InfraError(f"cannot connect to {address}: {e or 'no answer'}: is brig serve running?", code="gateway-unreachable", retry_safe=True)


def gone(address: Address, request: Request, e: BaseException) -> InfraError:
    return InfraError(f"the connection to {address} broke during the request: {e!r}", code="gateway-gone", retry_safe=request.method == "GET")


def timed_out(address: Address, seconds: float, timeout: float) -> InfraError:
    """The error of an answer that did not come in time: that of the client, or less before a deadline."""
    words = f"no answer from {address} in {seconds:g} s: CodeSandbox(answer_timeout=...) waits longer"
    if seconds < timeout:
        words = f"the deadline passed before {address} answered: set a later deadline_seconds, or send less at a time"
    return InfraError(words, code="gateway-timeout", retry_safe=False)


def too_long(address: Address, most: int) -> InfraError:
    return InfraError(f"the answer of {address} has more than {most >> 20} MiB: request less output or fewer files", code="bad-answer")


def not_http(address: Address, e: BaseException) -> InfraError:
    return InfraError(f"the answer of {address} is not HTTP: {e!r:.200}", code="bad-answer")
