import importlib.util
import os
import subprocess
import sys
import tarfile
import tempfile
import unittest
import zipfile
from pathlib import Path

import build_backend
from brig_sandbox import __version__

_ROOT = Path(build_backend.__file__).parent


class Packaging(unittest.TestCase):
    """pip needs no network: no other package builds this one."""

    def setUp(self) -> None:
        made = tempfile.TemporaryDirectory()
        self.addCleanup(made.cleanup)
        self.dir = made.name

    def test_it_requires_nothing_to_be_built(self) -> None:
        self.assertIn("\nrequires = []\n", (_ROOT / "pyproject.toml").read_text())
        source = (_ROOT / "build_backend.py").read_text()
        imported = {line.split()[1].split(".")[0] for line in source.splitlines() if line.startswith(("import ", "from "))}
        if sys.version_info >= (3, 10):
            self.assertLessEqual(imported, set(sys.stdlib_module_names))

    def test_the_wheel_has_the_package_and_its_metadata(self) -> None:
        file = build_backend.build_wheel(self.dir)
        self.assertEqual(file, f"brig_sandbox-{__version__}-py3-none-any.whl")
        with zipfile.ZipFile(os.path.join(self.dir, file)) as wheel:
            wheel.extractall(os.path.join(self.dir, "site"))
            names = wheel.namelist()
            metadata = wheel.read(f"brig_sandbox-{__version__}.dist-info/METADATA").decode()
            listed = wheel.read(f"brig_sandbox-{__version__}.dist-info/RECORD").decode().splitlines()
        modules = {f"brig_sandbox/{p.name}" for p in (_ROOT / "brig_sandbox").iterdir() if p.is_file()}
        self.assertEqual({n for n in names if n.startswith("brig_sandbox/")}, modules)
        self.assertEqual([line.split(",")[0] for line in listed], names)
        self.assertIn("\nRequires-Python: >=3.9\n", metadata)
        ask = "import brig_sandbox as b, importlib.metadata as m; print(b.__file__, m.version('brig-sandbox'))"
        said = subprocess.run([sys.executable, "-c", ask], cwd="/", env={"PYTHONPATH": os.path.join(self.dir, "site")}, check=True, capture_output=True, text=True).stdout
        self.assertEqual(said.split(), [os.path.join(self.dir, "site", "brig_sandbox", "__init__.py"), __version__])

    def test_the_source_archive_builds_the_same_wheel(self) -> None:
        with tarfile.open(os.path.join(self.dir, build_backend.build_sdist(self.dir))) as sdist:
            for member in sdist.getmembers():
                self.assertTrue(member.isfile() and ".." not in member.name, member.name)
                path = Path(self.dir, member.name)
                path.parent.mkdir(parents=True, exist_ok=True)
                text = sdist.extractfile(member)
                assert text is not None
                path.write_bytes(text.read())
        unpacked = Path(self.dir, f"brig_sandbox-{__version__}")
        subprocess.run([sys.executable, "-B", "-c", f"import build_backend; build_backend.build_wheel({str(unpacked)!r})"], cwd=unpacked, check=True)
        file = build_backend.build_wheel(self.dir)
        self.assertEqual((unpacked / file).read_bytes(), Path(self.dir, file).read_bytes())

    @unittest.skipUnless(importlib.util.find_spec("pip"), "the other tests do what pip does")
    def test_pip_installs_it_without_an_index(self) -> None:
        for how in ([str(_ROOT)], ["-e", str(_ROOT)]):
            command = [sys.executable, "-m", "pip", "install", "--no-index", "--disable-pip-version-check", "--no-input", "--quiet", "--target", os.path.join(self.dir, str(len(how))), *how]
            done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "PIP_ROOT_USER_ACTION": "ignore", "PIP_BREAK_SYSTEM_PACKAGES": "1", "PYTHONDONTWRITEBYTECODE": "1"})
            self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(os.path.exists(os.path.join(self.dir, "1", "brig_sandbox", "py.typed")))
        self.assertEqual(Path(self.dir, "2", "brig_sandbox.pth").read_text(), f"{_ROOT}\n")
