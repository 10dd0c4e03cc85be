"""A long answer of lines of JSON, each as it comes."""

from __future__ import annotations

import asyncio
import http.client
import json
from contextlib import ExitStack
from typing import Any, AsyncIterator, Dict, Generator

from ._async_http import AsyncTransport, within
from ._errors import InfraError
from ._http import TooLong, Transport, gone, not_http, too_long, unreachable
from ._request import Request
from ._wire import Cut, Idle, NotHTTP, closing

# The service sends a sign of life every 5 seconds.
SILENCE = 60.0

# The most of an event: 8 MiB of JSON, in which the service may write a byte as six.
LONGEST = 50 << 20

_UNBOUNDED = 1 << 62


def decoded(line: bytes) -> Dict[str, Any]:
    """The event in a line."""
    try:
        said = json.loads(line)
    except (ValueError, RecursionError, MemoryError) as e:
        raise InfraError("a line of the answer is not JSON: is this a brig service?", code="bad-answer") from e
    if not isinstance(said, dict):
        raise InfraError("a line of the answer is no object: is this a brig service?", code="bad-answer")
    return said


def events(transport: Transport, request: Request) -> Generator[Dict[str, Any], None, None]:
    """The events of an answer. A reader that leaves closes its connection."""
    address = transport.addresses[0]
    with ExitStack() as stack:
        connection = stack.enter_context(transport.opened(address, SILENCE))
        try:
            connection.connect()
        except OSError as e:
            raise unreachable(address, e) from e
        try:
            response = stack.enter_context(transport.asked(address, connection, request))
            while line := response.readline(LONGEST + 1):
                if len(line) > LONGEST:
                    raise too_long(address, LONGEST)
                if not line.endswith(b"\n"):
                    raise http.client.IncompleteRead(line)
                yield decoded(line)
        except (OSError, http.client.HTTPException) as e:
            raise gone(address, request, e) from e


async def events_async(transport: AsyncTransport, request: Request) -> AsyncIterator[Dict[str, Any]]:
    """As events."""
    address = transport.addresses[0]
    try:
        connection = await within(SILENCE, transport.open(address))
    except (OSError, asyncio.TimeoutError) as e:
        raise unreachable(address, e) from e
    try:
        connection.silence = SILENCE
        await transport.begin(address, connection, request, {}, _UNBOUNDED)
        async with closing(connection.lines(LONGEST)) as coming:
            async for line in coming:
                if not line.endswith(b"\n"):
                    raise Cut("a line is cut off")
                yield decoded(line)
    except TooLong as e:
        raise too_long(address, LONGEST) from e
    except NotHTTP as e:
        raise not_http(address, e) from e
    except (OSError, asyncio.TimeoutError, Cut, Idle) as e:
        raise gone(address, request, e) from e
    finally:
        connection.close()
