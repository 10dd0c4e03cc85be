"""Tars of directories, of which those from a sandbox are hostile."""

import io
import os
import tarfile
import tempfile
import unittest
from pathlib import Path
from typing import Dict

from brig_sandbox.adapters import _tree


def packed(*members: tarfile.TarInfo) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for member in members:
            tar.addfile(member, io.BytesIO(b"x" * member.size))
    return out.getvalue()


def member(name: str, kind: bytes = tarfile.REGTYPE, link: str = "", size: int = 0, mode: int = 0o644) -> tarfile.TarInfo:
    made = tarfile.TarInfo(name)
    made.type, made.linkname, made.size, made.mode = kind, link, size, mode
    return made


class Tree(unittest.TestCase):
    def setUp(self) -> None:
        home = tempfile.TemporaryDirectory()
        self.addCleanup(home.cleanup)
        self.home = Path(home.name)

    def files(self, at: Path) -> Dict[str, str]:
        return {str(p.relative_to(at)): p.read_text() if p.is_file() else "/" for p in sorted(at.rglob("*"))}

    def test_there_and_back(self) -> None:
        (self.home / "a" / "ü" / "empty").mkdir(parents=True)
        (self.home / "a" / "ü" / "f").write_text("text")
        (self.home / "a" / "run").write_text("#!/bin/sh")
        (self.home / "a" / "run").chmod(0o750)
        whole = _tree.pack(self.home / "a")
        with tarfile.open(fileobj=io.BytesIO(whole)) as tar:
            self.assertEqual({(m.uid, m.gid, m.uname, m.gname) for m in tar}, {(0, 0, "", "")})
        for _ in range(2):  # the second time over the first
            _tree.unpack(whole, self.home / "b")
        self.assertEqual(self.files(self.home / "b"), {"run": "#!/bin/sh", "ü": "/", "ü/f": "text", "ü/empty": "/"})
        self.assertTrue(os.access(self.home / "b" / "run", os.X_OK))
        with self.assertRaises(NotADirectoryError):
            _tree.pack(self.home / "a" / "run")

    def test_what_leads_out_is_refused(self) -> None:
        for name in ("../x", "/etc/x", "a/../../x", "a/.."):
            with self.subTest(name), self.assertRaisesRegex(ValueError, "outside of its directory"):
                _tree.unpack(packed(member(name, size=1)), self.home / "t")
        self.assertEqual(self.files(self.home), {"t": "/"})

    def test_links_and_devices_are_left_out(self) -> None:
        secret = self.home / "secret"
        secret.write_text("secret")
        hostile = packed(
            member("d", tarfile.SYMTYPE, str(self.home)),
            member("d/secret", size=3),  # through the link, if it were made
            member("l", tarfile.LNKTYPE, "../secret"),
            member("fifo", tarfile.FIFOTYPE),
            member("dev", tarfile.CHRTYPE),
            member("s", size=1, mode=0o6777),
        )
        _tree.unpack(hostile, self.home / "t")
        self.assertEqual(self.files(self.home / "t"), {"d": "/", "d/secret": "xxx", "s": "x"})
        self.assertEqual((secret.read_text(), (self.home / "t" / "s").stat().st_mode & 0o7777), ("secret", 0o755))

    def test_a_link_of_the_host_is_replaced(self) -> None:
        (self.home / "t").mkdir()
        (self.home / "kept").write_text("kept")
        (self.home / "t" / "f").symlink_to(self.home / "kept")
        _tree.unpack(packed(member("f", size=1)), self.home / "t")
        self.assertEqual(((self.home / "kept").read_text(), self.files(self.home / "t")), ("kept", {"f": "x"}))
