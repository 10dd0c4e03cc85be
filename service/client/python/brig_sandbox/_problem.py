"""Reads the answers of the service: JSON, or an error as of RFC 9457."""

from __future__ import annotations

import json
import time
from email.utils import parsedate_to_datetime
from typing import Any, Dict, Mapping, Optional

from ._errors import InfraError, RequestError, SandboxError

# The hints for 401.
_NO_KEY = "set api_key= of CodeSandbox, or BRIG_API_KEY in the environment"
_BAD_KEY = "the key comes from api_key=, or from BRIG_API_KEY in the environment"


def parsed(answer: bytes, url: str) -> Any:
    """The JSON of an answer; None if it is empty."""
    if not answer:
        return None
    try:
        return json.loads(answer, parse_constant=_no_number)
    except (ValueError, RecursionError, MemoryError) as e:
        raise InfraError(f"the answer of {url} is not JSON: is this a brig service?", code="bad-answer") from e


def problem(status: int, headers: Mapping[str, str], answer: bytes, *, has_key: bool = True) -> SandboxError:
    """The error for an answer that is not 2xx (in RFC 9457 format, or from a proxy)."""
    said: Dict[str, Any] = {}
    try:
        found = json.loads(answer, parse_constant=_no_number)
        if isinstance(found, dict):
            said = found
    except (ValueError, RecursionError, MemoryError):
        pass
    ours = status >= 500 or status == 429 or status < 400
    message = said.get("detail") or said.get("message") or said.get("title") or f"the service answers {status}{_plain(answer)}"
    errors = said.get("errors")  # invalid fields, each with its location
    if isinstance(errors, list):
        for e in errors:
            if isinstance(e, dict) and e.get("message"):
                message = f"{message}; {e.get('location', '')}: {e['message']}"
    cure = "" if status != 401 else _BAD_KEY if has_key else _NO_KEY
    return (InfraError if ours else RequestError)(
        f"{message} ({cure})" if cure else str(message),
        code=str(said.get("code") or f"http-{status}"),
        status=status,
        retry_safe=said.get("retry_safe") is True,
        retry_after=_retry_after(next((v for k, v in headers.items() if k.lower() == "retry-after"), None)),
        run_id=str(said.get("run_id") or ""),
        session_id=str(said.get("session_id") or ""),
        told_phase=said.get("phase"),
    )


def _plain(answer: bytes) -> str:
    """A plain text line instead of a problem document, such as the answer of a TLS server to a request without TLS."""
    text = answer.strip()
    if not text or len(text) > 200 or text[:1] in b"<{[" or not text.isascii() or not text.decode().isprintable():
        return ""
    return ": " + text.decode()


def _retry_after(value: Optional[str]) -> Optional[float]:
    if value is None:
        return None
    try:
        return max(0.0, float(value))
    except ValueError:
        pass
    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - time.time())
    except (TypeError, ValueError, ArithmeticError, LookupError):
        return None


def _no_number(name: str) -> Any:
    """Refuses NaN and Infinity, which Python's parser accepts but JSON does not have."""
    raise ValueError(f"{name} is not JSON")
