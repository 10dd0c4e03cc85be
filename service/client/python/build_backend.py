"""Builds the package for pip (PEP 517) with the standard library alone, so that it installs without a network."""

from __future__ import annotations

import base64
import hashlib
import io
import os
import sys
import tarfile
import zipfile
from pathlib import Path
from typing import Any, Dict, Optional

_HERE = Path(__file__).resolve().parent
_NAME = "brig_sandbox"

# inspect_ai and NeMo Gym find the sandbox "brig" here, without an import.
_ENTRY_POINTS = """[inspect_ai]
brig = brig_sandbox.adapters.inspect_ai

[nemo_gym.sandbox_providers]
brig = brig_sandbox.adapters.nemo_gym:BrigProvider
"""


def _version() -> str:
    text = (_HERE / _NAME / "_version.py").read_text()
    return text.split('"')[1]


def _metadata() -> str:
    return f"""Metadata-Version: 2.1
Name: brig-sandbox
Version: {_version()}
Summary: Runs untrusted code through a brig service
License: Apache-2.0
Requires-Python: >=3.9
Description-Content-Type: text/markdown

{(_HERE / "README.md").read_text()}"""


def _info() -> str:
    return f"{_NAME}-{_version()}.dist-info"


def _dist_info() -> Dict[str, bytes]:
    """The files that describe a wheel, except its list of files."""
    wheel = "Wheel-Version: 1.0\nGenerator: brig\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    return {
        f"{_info()}/METADATA": _metadata().encode(),
        f"{_info()}/WHEEL": wheel.encode(),
        f"{_info()}/entry_points.txt": _ENTRY_POINTS.encode(),
    }


def _package() -> Dict[str, bytes]:
    files = [p for p in (_HERE / _NAME).rglob("*") if p.suffix == ".py" or p.name == "py.typed"]
    return {p.relative_to(_HERE).as_posix(): p.read_bytes() for p in sorted(files)}


def _write_wheel(directory: str, content: Dict[str, bytes]) -> str:
    """Writes a wheel (PEP 427): a zip archive, which has a list of its files with their digests."""
    listed = []
    for name, text in content.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(text).digest()).rstrip(b"=").decode()
        listed.append(f"{name},sha256={digest},{len(text)}\n")
    record = f"{_info()}/RECORD"
    content = {**content, record: ("".join(listed) + f"{record},,\n").encode()}

    file = f"{_NAME}-{_version()}-py3-none-any.whl"
    with zipfile.ZipFile(os.path.join(directory, file), "w", zipfile.ZIP_DEFLATED) as wheel:
        for name, text in content.items():
            member = zipfile.ZipInfo(name)  # of 1980: the same files give the same wheel
            member.compress_type = zipfile.ZIP_DEFLATED
            member.external_attr = 0o644 << 16
            wheel.writestr(member, text)
    return file


def build_wheel(wheel_directory: str, config_settings: Optional[Dict[str, Any]] = None, metadata_directory: Optional[str] = None) -> str:
    return _write_wheel(wheel_directory, {**_package(), **_dist_info()})


def build_editable(wheel_directory: str, config_settings: Optional[Dict[str, Any]] = None, metadata_directory: Optional[str] = None) -> str:
    """A wheel that leads to this directory, for pip install -e (PEP 660)."""
    return _write_wheel(wheel_directory, {f"{_NAME}.pth": f"{_HERE}\n".encode(), **_dist_info()})


def build_sdist(sdist_directory: str, config_settings: Optional[Dict[str, Any]] = None) -> str:
    root = f"{_NAME}-{_version()}"
    content = {name: (_HERE / name).read_bytes() for name in ("README.md", "build_backend.py", "pyproject.toml")}
    content.update(_package())
    content["PKG-INFO"] = _metadata().encode()

    file = f"{root}.tar.gz"
    with tarfile.open(os.path.join(sdist_directory, file), "w:gz", format=tarfile.PAX_FORMAT) as sdist:
        for name, text in sorted(content.items()):
            member = tarfile.TarInfo(f"{root}/{name}")
            member.size = len(text)
            sdist.addfile(member, io.BytesIO(text))
    return file


def main(directory: str) -> None:
    """Builds wheel and source archive, without pip: make wheel."""
    os.makedirs(directory, exist_ok=True)
    for file in (build_wheel(directory), build_sdist(directory)):
        print(os.path.join(directory, file))


if __name__ == "__main__":
    main(*sys.argv[1:])
