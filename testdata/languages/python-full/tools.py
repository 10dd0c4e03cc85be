"""Runs each tool of the image on a small input, and prints "ok NAME" if it worked."""
import io
import os
import subprocess
import sys
import tempfile
import threading


def numpy():
    import numpy

    totals = []

    def multiply(seed):
        matrix = numpy.random.default_rng(seed).random((400, 400))
        totals.append(numpy.allclose(matrix @ numpy.linalg.inv(matrix), numpy.eye(400)))

    threads = [threading.Thread(target=multiply, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert totals == [True] * 4, totals


def scipy():
    from scipy import optimize, stats

    assert abs(optimize.brentq(lambda x: x * x - 2, 0, 2) - 2**0.5) < 1e-9
    assert abs(stats.norm.cdf(0) - 0.5) < 1e-12


def pandas():
    import pandas

    table = pandas.read_csv(io.StringIO("name,count\na,1\nb,2\na,3\n"))
    assert table.groupby("name")["count"].sum().to_dict() == {"a": 4, "b": 2}


def tool(*argv, exit_code, says):
    done = subprocess.run([sys.executable, "-m", *argv], capture_output=True, text=True)
    said = done.stdout + done.stderr
    assert done.returncode == exit_code and says in said, f"{argv}: {done.returncode}\n{said}"


def write(name, text):
    with open(name, "w") as file:
        file.write(text)


def pytest():
    write("test_right.py", "def test_right():\n    assert 1 + 1 == 2\n")
    write("test_wrong.py", "def test_wrong():\n    assert 1 + 1 == 3\n")
    tool("pytest", "-q", exit_code=1, says="1 failed, 1 passed")


def black():
    write("ugly.py", "x = { 'a':1 }\n")
    write("ugly2.py", "y=2\n")  # two files: it starts processes
    tool("black", "ugly.py", "ugly2.py", exit_code=0, says="2 files reformatted")
    with open("ugly.py") as file:
        assert file.read() == 'x = {"a": 1}\n'


def flake8():
    write("unused.py", "import os\n")
    tool("flake8", "unused.py", exit_code=1, says="F401")


def mypy():
    write("typed.py", "count: int = 'text'\n")
    write("right.py", "count: int = 1\n")
    tool("mypy", "typed.py", "right.py", exit_code=1, says="Found 1 error in 1 file (checked 2 source files)")


os.chdir(tempfile.mkdtemp())
for check in [numpy, scipy, pandas, pytest, black, flake8, mypy]:
    check()
    print("ok", check.__name__, flush=True)
