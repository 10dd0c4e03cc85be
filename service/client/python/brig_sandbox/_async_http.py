"""The transport of the asynchronous client: as Transport, over asyncio."""

from __future__ import annotations

import asyncio
import copy
import os
import ssl
import time
from typing import Any, Awaitable, Dict, List, Mapping, Optional, Set, Tuple, TypeVar

from . import _http
from ._addresses import Address, Spread
from ._errors import InfraError
from ._http import Answer, TooLong, check_key, gone, not_http, timed_out, too_long, unreachable
from ._pool import IDLE, IDLE_STAYS, KEPT
from ._problem import parsed, problem
from ._request import Query, Request, bytes_request, json_request
from ._retrying import AWAY, Policy, Tries
from ._wire import Connection, Cut, Idle, NotHTTP

T = TypeVar("T")


class AsyncTransport:
    """Sends requests to the addresses of a service, from one event loop at a time."""

    def __init__(self, addresses: List[Address], key: Optional[str], *, timeout: float, policy: Policy, context: Optional[ssl.SSLContext]) -> None:
        check_key(key)
        self.spread = Spread(addresses)
        self.policy = policy
        self._key = key
        self._timeout = timeout
        self._context = context
        self._kept: Dict[Address, List[Tuple[Connection, float, int]]] = {}

    @property
    def addresses(self) -> List[Address]:
        return self.spread.addresses

    def only(self, what: str) -> AsyncTransport:
        """As Transport.only."""
        if len(self.addresses) > 1:
            raise ValueError(f"{what} is about one service, and this client has {len(self.addresses)}: use one of box.each()")
        return self

    def at(self, address: Address) -> AsyncTransport:
        """A transport for one of the addresses, with the same connections."""
        if self.addresses == [address]:
            return self
        one = copy.copy(self)
        one.spread = Spread([address])
        return one

    def patient(self, until: Optional[float]) -> AsyncTransport:
        """A transport for one of many requests, with the same connections."""
        one = copy.copy(self)
        one.policy = self.policy.patient(until)
        return one

    def close(self) -> None:
        """Closes the kept connections. The transport can still be used."""
        for kept in self._kept.values():
            for connection, _, _ in kept:
                connection.close()
        self._kept.clear()

    async def call(self, method: str, path: str, body: Optional[Mapping[str, Any]] = None, query: Optional[Query] = None, *, stays: bool = False) -> Any:
        """The JSON of a 2xx answer; None if it has no body."""
        answer = await self.ask(json_request(method, path, body, query, stays=stays))
        return parsed(answer.body, answer.address.url)

    async def transfer(self, method: str, path: str, data: Optional[bytes] = None, query: Optional[Query] = None) -> bytes:
        """Sends bytes and returns the bytes of a 2xx answer."""
        return (await self.ask(bytes_request(method, path, data, query))).body

    async def ask(self, request: Request) -> Answer:
        """The 2xx answer to a request, after as many tries as are safe, at as many addresses as there are."""
        tries = Tries(self.policy, time.monotonic(), stays=request.stays, harmless=request.harmless)
        tried: Set[Address] = set()
        while True:
            seconds = self.policy.seconds(self._timeout, time.monotonic())
            address = self.spread.take(time.monotonic(), tried)
            try:
                answer = await self._once(address, request, seconds)
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
            await asyncio.sleep(wait)

    async def open(self, address: Address) -> Connection:
        """A new connection, which the caller must close."""
        if address.scheme == "https" and self._context is None:
            self._context = ssl.create_default_context()  # it reads all certificates
        return await Connection.open(address, self._context)

    async def begin(self, address: Address, connection: Connection, request: Request, more: Mapping[str, str], most: int) -> None:
        """Sends a request and reads the head of the answer. An answer that is not 2xx is raised as its error."""
        await connection.ask(request, {**request.headers(self._key), **more}, most)
        if not 200 <= connection.status < 300:
            raise problem(connection.status, connection.headers, await connection.body(), has_key=self._key is not None)

    async def _once(self, address: Address, request: Request, seconds: float) -> bytes:
        kept = self._take(address, IDLE_STAYS if request.stays else IDLE)
        if kept is not None:
            try:
                return await self._over(address, kept, request, seconds)
            except Idle as e:  # as in Transport
                if not request.harmless:
                    raise gone(address, request, e.__cause__ or e) from e
        try:
            connection = await within(seconds, self.open(address))
        except (OSError, asyncio.TimeoutError) as e:
            raise unreachable(address, e) from e
        try:
            return await self._over(address, connection, request, seconds)
        except Idle as e:
            raise gone(address, request, e.__cause__ or e) from e

    async def _over(self, address: Address, connection: Connection, request: Request, seconds: float) -> bytes:
        """The answer over a connection that is open, which is then kept or closed."""
        try:
            return await within(seconds, self._exchange(address, connection, request))
        except asyncio.TimeoutError as e:
            raise timed_out(address, seconds, self._timeout) from e
        except TooLong as e:
            raise too_long(address, _http._MOST) from e
        except NotHTTP as e:
            raise not_http(address, e) from e
        except (OSError, Cut) as e:
            raise gone(address, request, e) from e
        finally:
            kept = self._kept.setdefault(address, [])
            if connection.reusable and len(kept) < KEPT:
                kept.append((connection, time.monotonic(), os.getpid()))
            else:
                connection.close()

    async def _exchange(self, address: Address, connection: Connection, request: Request) -> bytes:
        await self.begin(address, connection, request, {}, _http._MOST)
        return await connection.body()

    def _take(self, address: Address, idle: float) -> Optional[Connection]:
        """A kept connection of this loop and process that was used within so many seconds and is open."""
        loop, now, process = asyncio.get_running_loop(), time.monotonic(), os.getpid()
        kept = self._kept.get(address, [])
        while kept:
            connection, since, made_in = kept.pop()
            if connection.loop is loop and made_in == process and now - since <= idle and connection.fresh:
                return connection
            if made_in == process:
                connection.end()
        return None


def twin_of(transport: _http.Transport) -> AsyncTransport:
    """An asynchronous transport with the settings of a synchronous one."""
    return AsyncTransport(transport.addresses, transport.key, timeout=transport.timeout, policy=transport.policy, context=transport.context)


async def within(seconds: float, doing: Awaitable[T]) -> T:
    """What doing gives, or asyncio.TimeoutError."""
    return await asyncio.wait_for(doing, seconds)
