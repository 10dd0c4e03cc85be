"""HTTP/1.1 over asyncio streams: one request and its answer at a time on each connection."""

from __future__ import annotations

import asyncio
import ssl
from contextlib import asynccontextmanager
from typing import AsyncGenerator, AsyncIterator, Awaitable, Dict, Mapping, Optional, TypeVar

from ._addresses import Address
from ._http import TooLong
from ._request import Request

T = TypeVar("T")

_LINE = 1 << 16  # the longest line of a head, in bytes
_HEADERS = 200
_PIECE = 1 << 18
_BUFFER = 1 << 20


@asynccontextmanager
async def closing(iterator: AsyncIterator[T]) -> AsyncIterator[AsyncIterator[T]]:
    """An asynchronous generator that ends with the block, and not when it is collected."""
    try:
        yield iterator
    finally:
        if isinstance(iterator, AsyncGenerator):
            await iterator.aclose()


class NotHTTP(Exception):
    """What came is no answer of HTTP/1.1."""


class Idle(Exception):
    """A kept connection had ended before the request: nothing of an answer came."""


class Cut(Exception):
    """The answer ended before its end."""


class Connection:
    """One connection. Whoever opened it must close it."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, address: Address) -> None:
        self.loop = asyncio.get_running_loop()
        self.status = 0
        self.headers: Dict[str, str] = {}  # names in lower case
        self.reusable = False
        self.silence: Optional[float] = None  # seconds without a byte after which it has broken; None: no bound
        self._reader = reader
        self._writer = writer
        self._address = address
        self._expired = False  # it was silent for too long
        self._read = 0  # bytes of the current answer
        self._most = 0
        self._old = False  # the answer is of HTTP/1.0

    @classmethod
    async def open(cls, address: Address, context: Optional[ssl.SSLContext]) -> Connection:
        if address.scheme == "unix":
            return cls(*await asyncio.open_unix_connection(address.path, limit=_BUFFER), address)
        if address.scheme == "https":
            secured = context or ssl.create_default_context()
            return cls(*await asyncio.open_connection(address.host, address.port or 443, ssl=secured, limit=_BUFFER), address)
        return cls(*await asyncio.open_connection(address.host, address.port or 80, limit=_BUFFER), address)

    @property
    def fresh(self) -> bool:
        """Whether the service has neither closed the connection nor sent something that nobody asked for."""
        unasked = getattr(self._reader, "_buffer", b"")  # such as a proxy's 408
        return not self._writer.is_closing() and not self._reader.at_eof() and self._reader.exception() is None and not unasked

    def close(self) -> None:
        self.reusable = False
        try:
            self._writer.close()
        except RuntimeError:  # its loop has ended, and the connection with it
            pass

    def end(self) -> None:
        """Closes the connection from another loop than its own, or from its own."""
        if not self.loop.is_closed():
            self.loop.call_soon_threadsafe(self.close)

    async def ask(self, request: Request, headers: Mapping[str, str], most: int) -> None:
        """Sends a request and reads the head of its answer. The body has at most so many bytes."""
        self.reusable = False
        self._read, self._most = 0, most
        body = request.data or b""
        lines = [f"{request.method} {self._address.prefix}{request.target} HTTP/1.1", f"Host: {self._address.named}"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        if request.data is not None or request.method in ("POST", "PUT"):
            lines.append(f"Content-Length: {len(body)}")
        whole = True
        try:
            self._writer.write("\r\n".join(lines).encode("latin-1") + b"\r\n\r\n")
            for at in range(0, len(body), _BUFFER):
                self._writer.write(body[at : at + _BUFFER])
                await self._writer.drain()
        except ConnectionError:  # a service that refuses a long body answers without reading it all
            whole = False
        await self._head()
        while 100 <= self.status < 200:
            await self._head()
        self.reusable = whole and self.headers.get("connection", "").lower() != "close" and not self._old

    async def body(self) -> bytes:
        """The whole body."""
        pieces = []
        async with closing(self.pieces()) as coming:
            async for piece in coming:
                pieces.append(piece)
        return b"".join(pieces)

    async def pieces(self) -> AsyncIterator[bytes]:
        """The body as it comes."""
        try:
            if self.status in (204, 304):
                return
            if "chunked" in self.headers.get("transfer-encoding", "").lower():
                async with closing(self._chunks()) as coming:
                    async for piece in coming:
                        yield piece
                return
            length = self.headers.get("content-length")
            if length is None:
                self.reusable = False
                while piece := await self._came(self._reader.read(_PIECE)):
                    yield self._counted(piece)
                return
            if not length.isdigit() or len(length) > 18:
                raise Cut(f"a length of {length!r:.40}")
            async with closing(self._exactly(int(length))) as coming:
                async for piece in coming:
                    yield piece
        except BaseException:
            self.reusable = False
            raise

    async def lines(self, longest: Optional[int] = None) -> AsyncIterator[bytes]:
        """The lines of the body, each as it comes and of at most so many bytes; the last one may lack its end."""
        rest = bytearray()
        async with closing(self.pieces()) as coming:
            async for piece in coming:
                *whole, last = piece.split(b"\n")
                for line in whole:
                    yield bytes(rest) + line + b"\n"
                    rest.clear()
                rest += last
                if longest is not None and len(rest) > longest:
                    raise TooLong
        if rest:
            yield bytes(rest)

    async def _came(self, piece: Awaitable[bytes]) -> bytes:
        if self.silence is None:
            return await piece
        # asyncio.wait_for would lose the cancellation of a task whose bytes come at the same time (before Python 3.12).
        timer = self.loop.call_later(self.silence, self._expire)
        try:
            came = await piece
        except Exception:
            if not self._expired:
                raise
        finally:
            timer.cancel()
        if self._expired:
            raise asyncio.TimeoutError(f"{self.silence:g} s without a byte")
        return came

    def _expire(self) -> None:
        self._expired = True
        self._writer.transport.abort()  # ends the read

    async def _line(self) -> bytes:
        try:
            line = await self._came(self._reader.readuntil(b"\n"))
        except asyncio.IncompleteReadError as e:
            if not self._read and not e.partial:
                raise Idle from e
            raise Cut("the answer is cut off") from e
        except (ValueError, asyncio.LimitOverrunError) as e:
            raise NotHTTP("a line is too long") from e
        except ConnectionError as e:
            if not self._read:
                raise Idle from e
            raise
        if len(self._counted(line)) > _LINE:
            raise NotHTTP("a line is too long")
        return line

    async def _head(self) -> None:
        words = (await self._line()).decode("latin-1").split(None, 2)
        if len(words) < 2 or not words[0].startswith("HTTP/1.") or not words[1].isdigit():
            raise NotHTTP("no line with a status")
        self.status, self._old = int(words[1]), words[0] == "HTTP/1.0"
        self.headers = {}
        for _ in range(_HEADERS):
            line = (await self._line()).decode("latin-1").strip()
            if not line:
                return
            name, _, value = line.partition(":")
            self.headers[name.strip().lower()] = value.strip()
        raise NotHTTP("too many headers")

    async def _chunks(self) -> AsyncIterator[bytes]:
        while True:
            size = (await self._line()).partition(b";")[0].strip()
            try:
                if not size.isalnum() or len(size) > 15:
                    raise ValueError
                left = int(size, 16)
            except ValueError as e:
                raise Cut(f"a chunk of {size!r:.40}") from e
            if left == 0:
                while (await self._line()).strip():  # trailers
                    pass
                return
            async with closing(self._exactly(left)) as coming:
                async for piece in coming:
                    yield piece
            await self._line()

    async def _exactly(self, left: int) -> AsyncIterator[bytes]:
        while left > 0:
            piece = await self._came(self._reader.read(min(left, _PIECE)))
            if not piece:
                raise Cut(f"{left} bytes are missing")
            left -= len(piece)
            yield self._counted(piece)

    def _counted(self, piece: bytes) -> bytes:
        self._read += len(piece)
        if self._read > self._most:
            raise TooLong
        return piece
