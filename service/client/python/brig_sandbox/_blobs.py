"""Files that the service keeps, and later runs name."""

from __future__ import annotations

from typing import Any, Dict, Union

from ._result import Blob, Content, encode

FileContent = Union[Content, Blob]


def file_body(name: str, content: FileContent) -> Dict[str, Any]:
    """A file of a request."""
    if not isinstance(content, Blob):
        return {"name": name, "content": encode(content)}
    body: Dict[str, Any] = {"name": name, "blob": content.digest}
    if content.executable:
        body["executable"] = True
    return body


def blob_path(blob: Union[Blob, str]) -> str:
    digest = blob.digest if isinstance(blob, Blob) else blob
    if not isinstance(digest, str):
        raise TypeError(f"blob is {blob!r:.80}: write a Blob of ExecutionResult.blobs, or its digest")
    if len(digest) != 64 or digest.strip("0123456789abcdef"):
        raise ValueError(f"blob is {digest!r:.80}: a digest has 64 lower-case hexadecimal digits")
    return "/v1/blobs/" + digest
