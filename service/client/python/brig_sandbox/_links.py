"""Links to runs, for those who have no key."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Dict, List, Optional, Sequence
from urllib.parse import quote

from ._async_http import AsyncTransport
from ._checks import check
from ._errors import InfraError, reading
from ._http import Transport
from ._limits import span
from ._result import decode, time_of
from ._runs import list_of


@dataclass(frozen=True)
class RunLink:
    """A link to a run.

    id:    by which it is revoked; it opens nothing
    token: what opens it, and path the page that it opens, in the service; both are empty in a list,
           because the service keeps a hash of the token alone
    """

    id: str
    run_id: str
    show: List[str]
    title: str
    created: datetime
    expires: datetime
    token: str = ""
    path: str = ""

    @classmethod
    @reading()
    def of(cls, said: Any) -> RunLink:
        if not isinstance(said, dict) or not isinstance(said.get("link_id"), str):
            raise InfraError("the answer is no link: is this a brig service?", code="bad-answer")
        return cls(
            id=said["link_id"],
            run_id=str(said["run_id"]),
            show=[str(one) for one in said["show"]],
            title=str(said.get("title") or ""),
            created=time_of(said["created"]),
            expires=time_of(said["expires"]),
            token=str(said.get("token") or ""),
            path=str(said.get("path") or ""),
        )


@dataclass(frozen=True)
class LinkedRun:
    """What somebody with a link sees of a run.

    state:    queued, running or done
    ahead:    how many come before it, while it waits for a slot
    outcome:  when it is done: accepted, wrong-answer or partial, else the verdict; error if brig failed, which
              says nothing about the program
    outcomes: a letter for each test, if the link shows that
    """

    state: str
    title: str
    created: datetime
    expires: datetime
    ahead: Optional[int] = None
    outcome: str = ""
    tests: Optional[int] = None
    accepted: Optional[int] = None
    first_failed: str = ""
    outcomes: str = ""
    score: Optional[float] = None
    points: Optional[float] = None
    judged_again: bool = False
    source: bytes = b""

    @classmethod
    @reading()
    def of(cls, said: Any) -> LinkedRun:
        if not isinstance(said, dict) or not isinstance(said.get("state"), str):
            raise InfraError("the answer has no run: is this a brig service?", code="bad-answer")
        verdict = str(said.get("verdict") or "")
        outcome = "error" if said.get("not_judged") is True else verdict if verdict != "ok" else str(said.get("answer") or "ok")
        shows_tests = said.get("tests") is not None
        return cls(
            state=said["state"],
            title=str(said.get("title") or ""),
            created=time_of(said["created"]),
            expires=time_of(said["expires"]),
            ahead=said.get("ahead"),
            outcome=outcome,
            tests=said.get("tests"),
            accepted=int(said.get("accepted") or 0) if shows_tests else None,
            first_failed=str(said.get("first_failed") or ""),
            outcomes=str(said.get("outcomes") or ""),
            score=said.get("score"),
            points=said.get("points"),
            judged_again=said.get("judged_again") is True,
            source=decode(said.get("source")),
        )


def links_path(run_id: str, link_id: Optional[str] = None) -> str:
    check(run_id=run_id)
    path = "/v1/runs/" + quote(run_id, safe="") + "/links"
    return path if link_id is None else path + "/" + quote(link_id, safe="")


def _body(show: Optional[Sequence[str]], title: str, life_seconds: Optional[float]) -> Dict[str, Any]:
    check(show=show, title=title, life_seconds=life_seconds)
    body: Dict[str, Any] = {"show": list(show or ())}
    if title:
        body["title"] = title
    if life_seconds is not None:
        body["lives"] = span(life_seconds)
    return body


def _shown(token: str) -> str:
    check(token=token)
    return "/v1/links/" + quote(token, safe="")


class Links:
    """The methods of CodeSandbox for links."""

    _http: Transport

    def link_run(self, run_id: str, show: Optional[Sequence[str]] = None, *, title: str = "", life_seconds: Optional[float] = None) -> RunLink:
        """Makes a link to a run, for somebody without a key, such as the student who wrote it.

        It shows how the run ended, and its place in the queue while it waits. show adds
        first_failed (the first test that failed), tests (what came of each), score, source.
        Inputs, expected outputs and what the program printed are never shown. It ends after
        life_seconds, or a week. The page of the link is link.path of the service.
        """
        path, body = links_path(run_id), _body(show, title, life_seconds)
        return RunLink.of(self._http.only("link_run").call("POST", path, body, stays=True))

    def run_links(self, run_id: str) -> List[RunLink]:
        """The links to a run, without their tokens."""
        path = links_path(run_id)
        return [RunLink.of(said) for said in list_of(self._http.only("run_links").call("GET", path))]

    def revoke_link(self, run_id: str, link_id: str) -> None:
        """Ends a link. Raises RequestError (not-found) if there is none."""
        check(link_id=link_id)
        self._http.only("revoke_link").call("DELETE", links_path(run_id, link_id))

    def linked_run(self, token: str) -> LinkedRun:
        """What a link shows. It needs no key. Raises RequestError (not-found) if the token opens nothing."""
        path = _shown(token)
        return LinkedRun.of(self._http.only("linked_run").call("GET", path))


class AsyncLinks:
    """The methods of AsyncCodeSandbox for links."""

    _http: AsyncTransport

    async def link_run(self, run_id: str, show: Optional[Sequence[str]] = None, *, title: str = "", life_seconds: Optional[float] = None) -> RunLink:
        """As CodeSandbox.link_run."""
        path, body = links_path(run_id), _body(show, title, life_seconds)
        return RunLink.of(await self._http.only("link_run").call("POST", path, body, stays=True))

    async def run_links(self, run_id: str) -> List[RunLink]:
        """As CodeSandbox.run_links."""
        path = links_path(run_id)
        return [RunLink.of(said) for said in list_of(await self._http.only("run_links").call("GET", path))]

    async def revoke_link(self, run_id: str, link_id: str) -> None:
        """As CodeSandbox.revoke_link."""
        check(link_id=link_id)
        await self._http.only("revoke_link").call("DELETE", links_path(run_id, link_id))

    async def linked_run(self, token: str) -> LinkedRun:
        """As CodeSandbox.linked_run."""
        path = _shown(token)
        return LinkedRun.of(await self._http.only("linked_run").call("GET", path))
