"""Directories of the host as tars, and back. A tar of a sandbox has the words of its programs: nothing but files and directories is made of it."""

from __future__ import annotations

import io
import os
import tarfile
from pathlib import Path
from typing import Union

_CHUNK = 1 << 20


def pack(directory: Union[str, Path]) -> bytes:
    """The files below a directory as a tar that belongs to nobody."""
    if not Path(directory).is_dir():
        raise NotADirectoryError(f"{directory} is no directory")

    def nobodys(member: tarfile.TarInfo) -> tarfile.TarInfo:
        member.uid = member.gid = 0
        member.uname = member.gname = ""
        return member

    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for name in sorted(os.listdir(directory)):
            tar.add(os.path.join(directory, name), arcname=name, filter=nobodys)
    return packed.getvalue()


def unpack(packed: bytes, directory: Union[str, Path]) -> None:
    """Makes the files and directories of a tar below a directory. Links and all else are left out; a name that leads out is an error."""
    base = Path(directory)
    base.mkdir(parents=True, exist_ok=True)
    with tarfile.open(fileobj=io.BytesIO(packed), mode="r:") as tar:
        for member in tar:
            parts = [part for part in member.name.split("/") if part not in ("", ".")]
            if member.name.startswith("/") or ".." in parts or "\0" in member.name:
                raise ValueError(f"the sandbox has sent a file outside of its directory: {member.name!r:.80}")
            at = base.joinpath(*parts)
            if member.isdir():
                at.mkdir(parents=True, exist_ok=True)
            elif member.isreg():
                at.parent.mkdir(parents=True, exist_ok=True)
                _write(tar, member, at)


def _write(tar: tarfile.TarFile, member: tarfile.TarInfo, at: Path) -> None:
    content = tar.extractfile(member)
    if content is None:
        raise ValueError(f"the sandbox has sent a file without content: {member.name!r:.80}")
    if at.is_symlink() or at.exists():
        at.unlink()
    with content, open(at, "xb") as to:
        while chunk := content.read(_CHUNK):
            to.write(chunk)
    at.chmod(0o755 if member.mode & 0o100 else 0o644)
