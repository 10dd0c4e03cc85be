"""The addresses of a service, and which of them gets the next request."""

from __future__ import annotations

import threading
from typing import Any, Collection, Dict, List, Sequence, Union
from urllib.parse import urlsplit

DEFAULT_URL = "http://127.0.0.1:8080"

# After a failed connection an address is the last choice for so many seconds.
_SHUNNED = 5.0

Url = Union[str, Sequence[str]]


class Address:
    """One address of a service: http://host:port, https://host or unix:///path."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https", "unix") or not (parts.hostname or parts.scheme == "unix" and parts.path):
            raise ValueError(f"url {url!r}: write http://host:port, https://host or unix:///path/of/socket")
        self.url = url
        self.scheme = parts.scheme
        self.host = parts.hostname or "localhost"
        self.port = parts.port
        self.path = parts.path  # of the socket, for unix
        self.prefix = "" if parts.scheme == "unix" else parts.path.rstrip("/")
        self.named = parts.netloc.rpartition("@")[2] if parts.scheme != "unix" else "localhost"  # for the header Host

    def __repr__(self) -> str:
        return self.url


def addresses_of(url: Any) -> List[Address]:
    """The addresses in a URL, in a text of several with commas, or in a list of URLs."""
    if isinstance(url, str):
        urls: List[Any] = [part.strip() for part in url.split(",") if part.strip()]
    elif isinstance(url, (list, tuple)):
        urls = list(url)
    else:
        raise TypeError(f"url is {url!r:.80}: write a URL such as \"{DEFAULT_URL}\", or a list of them")
    if not urls:
        raise ValueError(f"url {url!r}: write at least one address, such as {DEFAULT_URL}")
    for one in urls:
        if not isinstance(one, str):
            raise TypeError(f"url has {one!r:.80}: write a list of texts such as \"{DEFAULT_URL}\"")
    if len(set(urls)) < len(urls):
        raise ValueError(f"url {url!r} has the same address twice: leave one of them out")
    return [Address(one) for one in urls]


class Spread:
    """Spreads requests over addresses: the next goes where the fewest are under way. Safe for many threads."""

    def __init__(self, addresses: Sequence[Address]) -> None:
        self.addresses = list(addresses)
        self._lock = threading.Lock()
        self._under_way: Dict[Address, int] = {a: 0 for a in self.addresses}
        self._shunned: Dict[Address, float] = {}  # until when
        self._turn = 0

    def take(self, now: float, avoid: Collection[Address] = ()) -> Address:
        """The address for a request, which must be given back. avoid has those that were tried already."""
        with self._lock:
            self._turn += 1
            count = len(self.addresses)
            order = [self.addresses[(self._turn + n) % count] for n in range(count)]
            best = min(order, key=lambda a: (a in avoid, self._shunned.get(a, 0.0) > now, self._under_way[a]))
            self._under_way[best] += 1
            return best

    def give_back(self, address: Address) -> None:
        with self._lock:
            self._under_way[address] -= 1

    def shun(self, address: Address, now: float) -> None:
        """Notes that an address does not answer."""
        with self._lock:
            self._shunned[address] = now + _SHUNNED

    def welcome(self, address: Address) -> None:
        """Notes that an address answers."""
        if address in self._shunned:
            with self._lock:
                self._shunned.pop(address, None)
