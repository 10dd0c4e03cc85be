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
        modules = {p.relative_to(_ROOT).as_posix() for p in (_ROOT / "brig_sandbox").rglob("*") if p.is_file() and p.suffix != ".pyc"}
        self.assertEqual({n for n in names if n.startswith("brig_sandbox/")}, modules)
        self.assertEqual([line.split(",")[0] for line in listed], names)
        self.assertIn("\nRequires-Python: >=3.9\n", metadata)
        ask = "import brig_sandbox as b, importlib.metadata as m; print(b.__file__, m.version('brig-sandbox'), *[e.value for e in m.distribution('brig-sandbox').entry_points])"
        said = subprocess.run([sys.executable, "-c", ask], cwd="/", env={"PYTHONPATH": os.path.join(self.dir, "site")}, check=True, capture_output=True, text=True).stdout
        self.assertEqual(said.split(), [os.path.join(self.dir, "site", "brig_sandbox", "__init__.py"), __version__, "brig_sandbox.adapters.inspect_ai", "brig_sandbox.adapters.nemo_gym:BrigProvider"])

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

    def test_no_framework_is_imported_before_its_adapter(self) -> None:
        ask = "import sys, brig_sandbox, brig_sandbox.adapters; print(sorted({m.partition('.')[0] for m in sys.modules} - set(sys.stdlib_module_names) - set(sys.builtin_module_names)))"
        if sys.version_info >= (3, 10):
            said = subprocess.run([sys.executable, "-I", "-S", "-c", f"import sys; sys.path.insert(0, {str(_ROOT)!r}); " + ask], check=True, capture_output=True, text=True).stdout
            self.assertEqual(said.strip(), "['__main__', 'brig_sandbox']")

    @unittest.skipUnless(importlib.util.find_spec("pip"), "the other tests do what pip does")
    def test_pip_installs_it_without_an_index(self) -> None:
        environment = {**os.environ, "PIP_ROOT_USER_ACTION": "ignore", "PIP_BREAK_SYSTEM_PACKAGES": "1", "PYTHONDONTWRITEBYTECODE": "1"}
        command = [sys.executable, "-m", "pip", "install", "--no-index", "--disable-pip-version-check", "--no-input", "--quiet", "--target", self.dir, str(_ROOT)]
        done = subprocess.run(command, capture_output=True, text=True, env=environment)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(os.path.exists(os.path.join(self.dir, "brig_sandbox", "py.typed")))

    def test_the_editable_wheel_leads_here(self) -> None:
        with zipfile.ZipFile(os.path.join(self.dir, build_backend.build_editable(self.dir))) as wheel:
            self.assertEqual(wheel.read("brig_sandbox.pth").decode(), f"{_ROOT}\n")
            self.assertIn(f"brig_sandbox-{__version__}.dist-info/RECORD", wheel.namelist())
