"""Snapshots: copies of the files of a session, from which new sessions begin."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, Dict, List, Mapping, Optional, Sequence
from urllib.parse import quote

from ._checks import check
from ._errors import InfraError, reading
from ._limits import span

SNAPSHOTS = "/v1/snapshots"


@dataclass(frozen=True)
class Snapshot:
    """A copy of the files below /box and /tmp of a session. It belongs to the key, and expires.

    frozen and left_out say how it was made; in a list they are True and empty.
    """

    id: str  # sha256:..., a digest of the files
    name: str
    language: str
    image: str  # digest
    files: int  # files, directories and links
    size: int  # bytes of all files, without blocks of zeros
    stored: int  # bytes on the service's disk
    created: str  # RFC 3339, UTC
    expires: str
    frozen: bool = True  # whether all processes stood still; False: files may be of different instants
    left_out: Dict[str, str] = field(default_factory=dict)  # what is not in it, and why

    @classmethod
    @reading()
    def of(cls, said: Any) -> Snapshot:
        if not isinstance(said, dict) or not isinstance(said.get("snapshot_id"), str):
            raise InfraError("the answer has no snapshot: is this a brig service?", code="bad-answer")
        return cls(
            id=said["snapshot_id"],
            name=str(said.get("name") or ""),
            language=str(said.get("language") or ""),
            image=str(said.get("base") or ""),
            files=int(said.get("files") or 0),
            size=int(said.get("bytes") or 0),
            stored=int(said.get("stored_bytes") or 0),
            created=str(said.get("created") or ""),
            expires=str(said.get("expires") or ""),
            frozen=said.get("frozen") is not False,
            left_out={str(one.get("name")): str(one.get("reason")) for one in said.get("left_out") or ()},
        )


@dataclass(frozen=True)
class PathChange:
    """One difference between a session and a snapshot. change is added, modified or removed; kind file, directory or symlink."""

    path: str
    change: str
    kind: str
    mode: int
    size: int


def snapshot_path(snapshot: str) -> str:
    """The address of a snapshot, by id or name."""
    check(snapshot=snapshot)
    return SNAPSHOTS + "/" + quote(snapshot, safe="")


def snapshot_body(name: str, paths: Sequence[str], life_seconds: Optional[float]) -> Dict[str, Any]:
    """The request of a snapshot."""
    check(name=name, paths=paths, life_seconds=life_seconds)
    body: Dict[str, Any] = {}
    if name:
        body["name"] = name
    if paths:
        body["paths"] = list(paths)
    if life_seconds is not None:
        body["life"] = span(life_seconds)
    return body


def take_body(session_id: str, paths: Sequence[str]) -> Dict[str, Any]:
    """The request for files of another session."""
    check(session_id=session_id, paths=paths)
    return {"from": session_id, "paths": list(paths)}


def changes_of(lines: bytes) -> List[PathChange]:
    """The changes in the service's answer."""
    with reading():
        return [_change(json.loads(line)) for line in lines.split(b"\n") if line]


def _change(said: Mapping[str, Any]) -> PathChange:
    return PathChange(
        path=str(said["path"]),
        change=str(said["change"]),
        kind=str(said.get("kind") or ""),
        mode=int(said.get("mode") or 0),
        size=int(said.get("size") or 0),
    )
