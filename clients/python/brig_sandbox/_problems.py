"""Problems that the service keeps, and grading by them."""

from __future__ import annotations

import io
import os
import stat
import zipfile
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Dict, List, Mapping, Optional, Union
from urllib.parse import quote

from ._errors import InfraError, reading
from ._grading import Grade
from ._http import Transport
from ._limits import ResourceLimits
from ._result import Content, time_of

PROBLEMS = "/v1/problems"

Package = Union[str, "os.PathLike[str]", bytes]


@dataclass(frozen=True)
class StoredProblem:
    """A package of a problem that the service keeps for this key.

    digest:   names the files of the package: the same for every archive of them
    manifest: what the package says, as brig problem show --json prints it; empty in a list
    """

    name: str
    digest: str
    format: str
    title: str
    tests: int
    bytes: int
    stored: datetime
    scoring: bool = False
    interactive: bool = False
    manifest: Dict[str, Any] = field(default_factory=dict, repr=False)

    @classmethod
    @reading()
    def of(cls, said: Any) -> StoredProblem:
        if not isinstance(said, dict) or not said.get("digest"):
            raise InfraError("the answer is no problem: is this a brig service?", code="bad-answer")
        return cls(
            name=str(said["name"]),
            digest=str(said["digest"]),
            format=str(said["format"]),
            title=str(said.get("title") or ""),
            tests=int(said["tests"]),
            bytes=int(said["bytes"]),
            stored=time_of(said["stored"]),
            scoring=said.get("scoring") is True,
            interactive=said.get("interactive") is True,
            manifest=dict(said.get("manifest") or {}),
        )


def pack(package: Package) -> bytes:
    """The archive to send: the bytes themselves, those of a file, or a zip of a directory.

    Links stay links: the service follows those that lead to files of the package.
    """
    if isinstance(package, (bytes, bytearray)):
        return bytes(package)
    top = Path(package)
    if not top.is_dir():
        return top.read_bytes()
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for at, dirs, files in os.walk(top):
            dirs.sort()
            for name in sorted(files + [d for d in dirs if (Path(at) / d).is_symlink()]):
                path = Path(at) / name
                mode = path.lstat().st_mode
                entry = zipfile.ZipInfo(path.relative_to(top).as_posix())
                entry.compress_type = zipfile.ZIP_DEFLATED
                entry.external_attr = mode << 16
                if stat.S_ISLNK(mode):
                    archive.writestr(entry, os.readlink(path))
                elif stat.S_ISREG(mode):
                    archive.writestr(entry, path.read_bytes())
    return out.getvalue()


class Problems:
    """The methods of CodeSandbox for stored problems."""

    _http: Transport

    def _run(
        self,
        code: Content,
        language: str,
        limits: Optional[ResourceLimits],
        env_vars: Optional[Mapping[str, str]],
        files: Optional[Mapping[str, Content]],
        project: Optional[str],
        task: Optional[str],
    ) -> Dict[str, Any]:
        raise NotImplementedError

    def put_problem(self, name: str, package: Package) -> StoredProblem:
        """Stores the package of a problem under a name; it replaces one of this name.

        package is a directory, a .zip, .tar, .tar.gz or .tar.zst file, or the bytes of one. A
        package that is wrong changes nothing: the RequestError has the code bad-problem, and
        names file, line and rule of all that is wrong with it.
        """
        return StoredProblem.of(self._http.send("PUT", _path(name), pack(package)))

    def problems(self) -> List[StoredProblem]:
        """The stored problems of this key, without their manifests."""
        said = self._http.call("GET", PROBLEMS)
        if not isinstance(said, dict) or not isinstance(said.get("items"), list):
            raise InfraError("the answer has no list: is this a brig service?", code="bad-answer")
        return [StoredProblem.of(one) for one in said["items"]]

    def get_problem(self, name: str) -> StoredProblem:
        """A stored problem, by its name or digest."""
        return StoredProblem.of(self._http.call("GET", _path(name)))

    def delete_problem(self, name: str) -> None:
        """Removes a stored problem."""
        self._http.call("DELETE", _path(name))

    def grade(
        self,
        problem: str,
        source: Content,
        language: str = "python",
        limits: Optional[ResourceLimits] = None,
        *,
        files: Optional[Mapping[str, Content]] = None,
        stop_at_failure: bool = False,
        mode: Optional[str] = None,
        project: Optional[str] = None,
        task: Optional[str] = None,
    ) -> Grade:
        """Judges a source by a stored problem, named by its name or digest, and returns the grade.

        The problem has the tests, the limits and what judges. limits, if given, take precedence
        over it; the client's default_limits do not count here. The score of the grade is between
        0 and 1.

        A program that fails gives a Grade too. If there is none, nothing is known of the
        program, and a score of 0 would be wrong: InfraError if the service failed, RequestError
        if it refused the request, for example because a checker of the package failed
        (check-failed).
        """
        body = self._run(source, language, limits, None, files, project, task)
        if limits is None:
            body.pop("limits", None)
        body["problem"] = problem
        if stop_at_failure:
            body["stop_at_failure"] = True
        if mode is not None:
            body["mode"] = mode
        return Grade.of(self._http.call("POST", "/v1/runs", body), language, None)


def _path(name: str) -> str:
    return PROBLEMS + "/" + quote(name, safe="")
