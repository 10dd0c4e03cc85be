"""A task of inspect_ai whose programs run in brig: a model writes a program, and tests decide."""

from inspect_ai import Task, task
from inspect_ai.dataset import Sample
from inspect_ai.scorer import CORRECT, INCORRECT, Score, accuracy, scorer
from inspect_ai.solver import generate
from inspect_ai.util import sandbox

import brig_sandbox.adapters.inspect_ai  # noqa: F401 - it makes sandbox="brig" known

SAMPLES = [
    ("Write a Python program that reads two integers of one line and prints their sum.", "2 40", "42"),
    ("Write a Python program that reads a word and prints it backwards.", "stressed", "desserts"),
]


def program(completion):
    """The text between the first ``` and the next; without any, all of it."""
    parts = completion.split("```")
    return parts[1].partition("\n")[2] if len(parts) > 2 else completion


@scorer(metrics=[accuracy()])
def passes():
    async def score(state, target):
        await sandbox().write_file("solution.py", program(state.output.completion))
        ran = await sandbox().exec(["python3", "solution.py"], input=state.metadata["stdin"], timeout=10)
        right = ran.success and ran.stdout.strip() == target.text
        return Score(value=CORRECT if right else INCORRECT, explanation=ran.stderr or ran.stdout)

    return score


@task
def programs():
    samples = [Sample(input=text, target=wanted, metadata={"stdin": given}) for text, given, wanted in SAMPLES]
    return Task(dataset=samples, solver=generate(), scorer=passes(), sandbox=("brig", "python"))
