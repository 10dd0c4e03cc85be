"""Problems that the service keeps, and grading by them."""

from __future__ import annotations

import http.client
import io
import json
import os
import stat
import zipfile
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Callable, Dict, List, Mapping, Optional, Union
from urllib.parse import quote

from ._checks import check
from ._errors import InfraError, reading
from ._grading import Grade
from ._http import Transport
from ._limits import ResourceLimits
from ._request import LINES, Request
from ._result import Content, time_of
from ._runs import Runs

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
    if not isinstance(package, (str, os.PathLike)):
        raise TypeError(f"package is {package!r:.80}: write the path of a directory or an archive, or the bytes of an archive")
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


@dataclass(frozen=True)
class Verification:
    """What came of verifying the package of a problem."""

    ok: bool  # it is right, as far as it was run
    mistakes: List[str]
    warnings: List[str]
    not_run: List[str]  # what was not verified, and why
    submissions: List[Dict[str, Any]] = field(repr=False)  # of the jury: path, expected, got, and more
    raw: Dict[str, Any] = field(repr=False)  # the service's answer

    @classmethod
    @reading()
    def of(cls, said: Any) -> Verification:
        if not isinstance(said, dict) or not isinstance(said.get("ok"), bool):
            raise InfraError("the answer is no verification: is this a brig service?", code="bad-answer")
        return cls(ok=said["ok"], mistakes=list(said["mistakes"]), warnings=list(said["warnings"]), not_run=list(said["not_run"]), submissions=list(said["submissions"]), raw=said)


SILENCE = 60.0  # seconds: the service shows every ten that it goes on


class Problems(Runs):
    """The methods of CodeSandbox for stored problems."""

    _http: Transport

    def put_problem(self, name: str, package: Package) -> StoredProblem:
        """Stores the package of a problem under a name; it replaces one of this name.

        package is a directory, a .zip, .tar, .tar.gz or .tar.zst file, or the bytes of one. A
        package that is wrong changes nothing: the RequestError has the code bad-problem, and
        names file, line and rule of all that is wrong with it.
        """
        return StoredProblem.of(self._http.only("put_problem").send("PUT", _path(name), pack(package)))

    def problems(self) -> List[StoredProblem]:
        """The stored problems of this key, without their manifests."""
        said = self._http.only("problems").call("GET", PROBLEMS)
        if not isinstance(said, dict) or not isinstance(said.get("items"), list):
            raise InfraError("the answer has no list: is this a brig service?", code="bad-answer")
        return [StoredProblem.of(one) for one in said["items"]]

    def get_problem(self, name: str) -> StoredProblem:
        """A stored problem, by its name or digest."""
        return StoredProblem.of(self._http.only("get_problem").call("GET", _path(name)))

    def verify_problem(self, name: str, *, repeat: int = 1, longest_seconds: Optional[float] = None, progress: Optional[Callable[[int, int], None]] = None) -> Verification:
        """Runs all programs of a stored problem, and returns whether it is right, with what is wrong.

        It may take minutes. repeat is how often each submission of the jury is run, and
        longest_seconds the processor time of a test while the time limit is not known;
        progress(ended, runs) is called after each run of a submission. A package that is wrong is
        no error: ok is False, and mistakes says why. Raises InfraError if the service failed.
        """
        check(repeat=repeat, longest_seconds=longest_seconds, progress=progress)
        address = self._http.only("verify_problem").addresses[0]
        body: Dict[str, Any] = {"repeat": repeat}
        if longest_seconds is not None:
            body["longest"] = f"{longest_seconds:.6f}s"
        request = Request("POST", _path(name) + "/verify", json.dumps(body).encode())
        try:
            with self._http.opened(address, SILENCE) as connection:
                for line in self._http.asked(address, connection, request, {"Accept": LINES}):
                    said = json.loads(line) if line.strip() else {}
                    if said.get("end") is not True:
                        if progress is not None and "ended" in said:
                            progress(said["ended"], said["runs"])
                        continue
                    if said.get("error"):
                        raise InfraError(str(said["error"].get("message") or ""), code=str(said["error"].get("code") or ""))
                    return Verification.of(said.get("verification"))
        except (OSError, http.client.HTTPException, ValueError) as e:
            raise InfraError(f"the verification was cut off: {e}", code="unreachable") from e
        raise InfraError("the verification was cut off", code="unreachable")

    def delete_problem(self, name: str) -> None:
        """Removes a stored problem."""
        self._http.only("delete_problem").call("DELETE", _path(name))

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
        body = self._grade_body(problem, source, language, limits, files, stop_at_failure, mode, project, task)
        return Grade.of(self._http.call("POST", "/v1/runs", body), language, None)


def _path(name: str) -> str:
    check(name=name)
    return PROBLEMS + "/" + quote(name, safe="")
