"""One request, before it is sent."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Dict, Mapping, Optional
from urllib.parse import urlencode

from ._version import __version__

Query = Mapping[str, Any]  # empty and false values are left out

END = "/v1/end"

JSON = "application/json"
BYTES = "application/octet-stream"
LINES = "application/x-ndjson"


@dataclass(frozen=True)
class Request:
    """A request to a service, the same for every address and every try.

    stays:   it has lasting effects, so a request that failed halfway is not sent again
    outside: its program has a network, so it may have had effects elsewhere
    """

    method: str
    target: str
    data: Optional[bytes] = None
    kind: str = JSON
    stays: bool = False
    outside: bool = False

    @property
    def harmless(self) -> bool:
        """Whether nothing is lost or done twice if it is sent again without knowing what became of it."""
        if self.method == "POST":  # what the first of two ends has ended, the second one does not count
            return self.target == END or self.target == "/v1/runs" and not self.outside
        return self.method == "GET"

    def headers(self, key: Optional[str]) -> Dict[str, str]:
        """The headers, without the length of the body."""
        said = {"Accept": self.kind + ", application/problem+json", "User-Agent": "brig-sandbox-python/" + __version__}
        if self.data is not None:
            said["Content-Type"] = self.kind
        if key is not None:
            said["Authorization"] = "Bearer " + key
        return said


def json_request(method: str, path: str, body: Optional[Mapping[str, Any]] = None, query: Optional[Query] = None, *, stays: bool = False) -> Request:
    data = None if body is None else json.dumps(body).encode()
    outside = body is not None and body.get("network", "none") not in ("none", "loopback")
    return Request(method, _target(path, query), data, JSON, stays, outside)


def bytes_request(method: str, path: str, data: Optional[bytes] = None, query: Optional[Query] = None) -> Request:
    return Request(method, _target(path, query), data, BYTES)


def _target(path: str, query: Optional[Query]) -> str:
    chosen = {k: v for k, v in (query or {}).items() if v}
    return path + "?" + urlencode(chosen) if chosen else path
