"""A reward function for verl: the share of the tests that a completion's program passes."""

import json
import re

from brig_sandbox import CodeSandbox, ResourceLimits

# One client for all calls of this process: it keeps its connections. BRIG_URL and BRIG_API_KEY say where the service is.
_box = CodeSandbox(ResourceLimits(memory_limit="512m", timeout_seconds=10), project="verl")

_BLOCK = re.compile(r"```(?:python|py)?[ \t]*\n(.*?)```", re.DOTALL)


def program(completion):
    """The last block of code of a completion; without one there is no program."""
    blocks = _BLOCK.findall(completion)
    return blocks[-1] if blocks else None


def compute_score(data_source, solution_str, ground_truth, extra_info=None):
    """The reward, from 0 to 1. ground_truth has lists "inputs" and "outputs", as an object or as JSON.

    A failure of the service raises InfraError: it says nothing of the program, and is never a reward of 0. The client
    has waited for a service that is full or away by then.
    """
    code = program(solution_str)
    if code is None:
        return 0.0
    truth = json.loads(ground_truth) if isinstance(ground_truth, str) else ground_truth
    tests = list(zip(truth["inputs"], truth["outputs"]))
    if not tests:
        raise ValueError("ground_truth has no tests")
    grade = _box.run_tests(code, tests, task=str(data_source)[:60])
    return grade.passed / grade.total
