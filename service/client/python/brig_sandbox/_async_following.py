"""Follows a batch over asyncio."""

from __future__ import annotations

import asyncio
import http.client
from typing import Any, AsyncIterator, Dict

from ._addresses import Address
from ._async_http import AsyncTransport
from ._errors import SandboxError
from ._following import Following
from ._http import TooLong
from ._phases import CONNECT
from ._wire import Connection, Cut, Idle, NotHTTP, closing

# A batch has no bound of its own: its lines are read one by one.
_UNBOUNDED = 1 << 62


async def follow_async(transport: AsyncTransport, state: Following, address: Address) -> AsyncIterator[Dict[str, Any]]:
    """Yields the line of each result once. A connection that breaks is made again."""
    while not state.ended:
        connection = None
        try:
            state.phase = CONNECT
            connection = await asyncio.wait_for(transport.open(address), state.silence)
            async with closing(_results(transport, state, address, connection)) as coming:
                async for said in coming:
                    yield said
        except (OSError, asyncio.TimeoutError, Cut, Idle, NotHTTP, TooLong, http.client.HTTPException, SandboxError) as e:
            await asyncio.sleep(state.failed(e))
        finally:
            if connection is not None:
                connection.close()


async def _results(transport: AsyncTransport, state: Following, address: Address, connection: Connection) -> AsyncIterator[Dict[str, Any]]:
    """The results over one connection, until it has no more."""
    connection.silence = state.silence
    request, headers = state.request()
    await transport.begin(address, connection, request, headers, _UNBOUNDED)
    state.answered(connection.headers.get("location"))
    async with closing(connection.lines()) as coming:
        async for line in coming:
            said = state.take(line)
            if said is not None:
                yield said
            if state.ended:
                return
    state.cut()
