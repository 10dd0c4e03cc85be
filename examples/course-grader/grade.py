"""Grades a directory of submissions on a directory of tests, and writes a table.

    python3 grade.py TESTS SUBMISSIONS > grades.csv

Tests are pairs NAME.in and NAME.out, submissions are files NAME.py. BRIG_URL and BRIG_API_KEY say where the service is.
A submission that the service could not judge has no row and is named on stderr; the exit code is then 1.
"""

import csv
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from brig_sandbox import CodeSandbox, InfraError, ResourceLimits

BOX = CodeSandbox(ResourceLimits(memory_limit="256m", timeout_seconds=5), project="course")


def read_tests(directory):
    tests = [{"id": p.stem, "stdin": p.read_text(), "expected": p.with_suffix(".out").read_text()} for p in sorted(directory.glob("*.in"))]
    if not tests:
        sys.exit(f"grade: {directory} has no NAME.in")
    return tests


def grade(path, tests):
    """The grade of one submission, or the failure of the service."""
    try:
        return BOX.run_tests(path.read_text(errors="replace"), tests, task=path.stem)
    except InfraError as e:
        return e


def main(tests, submissions):
    tests = read_tests(Path(tests))
    files = sorted(Path(submissions).glob("*.py"))
    table = csv.writer(sys.stdout, lineterminator="\n")
    table.writerow(["name", "passed", "of", "first failure"])
    failed = 0
    with ThreadPoolExecutor(8) as pool:  # the service has a queue: more threads than slots keep it busy
        for path, result in zip(files, pool.map(lambda p: grade(p, tests), files)):
            if isinstance(result, InfraError):
                print(f"{path.name}: not graded, try again: {result}", file=sys.stderr)
                failed += 1
                continue
            wrong = next((t for t in result.tests if not t.accepted), None)
            why = "" if wrong is None else f"{wrong.id}: {wrong.verdict if wrong.verdict != 'ok' else 'wrong output'}"
            table.writerow([path.stem, result.passed, result.total, why])
    return failed > 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
