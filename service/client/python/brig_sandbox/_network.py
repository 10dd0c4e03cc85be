"""The network of a run."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Dict, List, Mapping, Optional, Sequence

from ._errors import reading


@dataclass(frozen=True)
class NetworkHost:
    """A host and port that a run reached."""

    name: str  # the name that the program asked for, or the address
    port: int
    connections: int
    bytes_in: int
    bytes_out: int


@dataclass(frozen=True)
class NetworkRefusal:
    """Something that a run tried to reach and was refused."""

    name: str
    port: int  # 0: the name itself was refused
    why: str
    count: int


@dataclass(frozen=True)
class NetworkUsage:
    """What a run with network reached and was refused, at most 64 entries each."""

    hosts: List[NetworkHost] = field(default_factory=list)
    refused: List[NetworkRefusal] = field(default_factory=list)
    bytes_in: int = 0  # received by the run
    bytes_out: int = 0  # sent by it
    connections: int = 0

    @classmethod
    @reading()
    def of(cls, said: Mapping[str, Any]) -> NetworkUsage:
        return cls(
            hosts=[NetworkHost(str(h["name"]), int(h["port"]), int(h["connections"]), int(h["bytes_in"]), int(h["bytes_out"])) for h in said.get("hosts") or ()],
            refused=[NetworkRefusal(str(r["name"]), int(r.get("port") or 0), str(r["why"]), int(r["count"])) for r in said.get("refused") or ()],
            bytes_in=int(said.get("bytes_in") or 0),
            bytes_out=int(said.get("bytes_out") or 0),
            connections=int(said.get("connections") or 0),
        )


def to_api(network_enabled: bool, allow: Optional[Sequence[str]]) -> Dict[str, Any]:
    """The network of a run in the service's format."""
    if isinstance(allow, (str, bytes)):
        raise TypeError("allow must be a list of hosts")
    if allow and not network_enabled:
        raise ValueError("allow lists hosts, and network_enabled is not True: set it, or leave allow out")
    if allow:
        return {"network": "allow", "allow": list(allow)}
    return {"network": "public"} if network_enabled else {}
