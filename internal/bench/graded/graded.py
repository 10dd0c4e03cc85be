"""Grades many Python programs by grade_many from one asyncio process, and some of them as plain subprocesses, in turns.

Arguments: the service's URL, the directory with the image's files, the number of programs, and how
many of them run plainly. It prints one JSON object. Nothing else reads it but internal/bench.
"""

import asyncio
import json
import resource
import statistics
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Dict, List, Tuple

from brig_sandbox import AsyncCodeSandbox, InfraError, Job, ResourceLimits

TESTS = 10
ROUNDS = 10


def program(n: int) -> Tuple[str, List[Tuple[str, str]], float]:
    """A program, its tests and its score: every fifth is wrong in the tests with an odd sum."""
    wrong = n % 5 == 0
    source = f"n = {n}\na, b = map(int, input().split())\nprint(a + b" + (" - (a + b) % 2" if wrong else "") + ")\n"
    pairs = [(n + k, 3 * k) for k in range(TESTS)]
    tests = [(f"{a} {b}\n", f"{a + b}\n") for a, b in pairs]
    return source, tests, sum(not (wrong and (a + b) % 2) for a, b in pairs) / TESTS


async def graded(box: AsyncCodeSandbox, programs: List[Tuple[str, List[Tuple[str, str]], float]]) -> Dict[str, Any]:
    """All programs in one call."""
    jobs = [Job(source, cases=tests, language="python") for source, tests, _ in programs]
    scores: Dict[int, float] = {}
    failures: List[str] = []
    began, used = time.monotonic(), time.process_time()
    try:
        async for result in box.grade_many(jobs):
            if result.score is None:
                failures.append(str(result.error))
            else:
                scores[result.index] = result.score
    except InfraError as e:
        failures.append(str(e))
    return {
        "seconds": time.monotonic() - began,
        "client_cpu": time.process_time() - used,
        "lost": len(programs) - len(scores),
        "wrong": sum(abs(scores.get(n, want) - want) > 1e-9 for n, (_, _, want) in enumerate(programs)),
        "failures": failures[:5],
    }


def plain(root: str, programs: List[Tuple[str, List[Tuple[str, str]], float]]) -> Tuple[float, float]:
    """Programs a second as subprocesses, two at a time, with the interpreter of the same image, and processor seconds of each."""

    def judge(one: Tuple[str, List[Tuple[str, str]], float]) -> None:
        source, tests, want = one
        passed = 0
        for stdin, expected in tests:
            ran = subprocess.run(["chroot", root, "python3", "-c", source], input=stdin, capture_output=True, text=True, check=False)
            passed += ran.returncode == 0 and ran.stdout == expected
        if abs(passed / TESTS - want) > 1e-9:
            raise SystemExit(f"the plain run passed {passed} tests instead of {want * TESTS:g}: {ran.stderr}")

    def used() -> float:
        sums = [resource.getrusage(of) for of in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
        return sum(one.ru_utime + one.ru_stime for one in sums)

    began, before = time.monotonic(), used()
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(judge, programs))
    return len(programs) / (time.monotonic() - began), (used() - before) / len(programs)


async def rounds(url: str, root: str, programs: List[Tuple[str, List[Tuple[str, str]], float]], plainly: int) -> Dict[str, Any]:
    """Grades a part of the programs and runs some of it plainly, in turns: the load of other programs on the machine changes."""
    count = min(ROUNDS, len(programs), plainly)
    said: List[Dict[str, Any]] = []
    limits = ResourceLimits(memory_limit="128m", timeout_seconds=30)
    async with AsyncCodeSandbox(limits, url=url) as box:
        for n in range(count):
            part = programs[n::count]
            one = await graded(box, part)
            one["plain"], one["plain_cpu"] = plain(root, part[: -(-plainly // count)])
            one["ratio"] = len(part) / one["seconds"] / one["plain"]
            said.append(one)

    sums = {name: sum(one[name] for one in said) for name in ("seconds", "client_cpu", "lost", "wrong")}
    return {
        **sums,
        "failures": [why for one in said for why in one["failures"]][:5],
        "ratios": [one["ratio"] for one in said],
        "plain_per_second": statistics.median(one["plain"] for one in said),
        "plain_cpu": statistics.median(one["plain_cpu"] for one in said),
    }


def main(url: str, root: str, count: str, plainly: str) -> None:
    programs = [program(n) for n in range(int(count))]
    print(json.dumps(asyncio.run(rounds(url, root, programs, int(plainly)))))


if __name__ == "__main__":
    main(*sys.argv[1:])
