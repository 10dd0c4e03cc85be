"""Runs inspect_ai's self check (self_check.py and limits.py, unchanged) with brig's adapter. What the two import of the
rest of inspect_ai are stand-ins, of which only names and shapes matter."""

import asyncio
import importlib.util
import pathlib
import sys
import types
from dataclasses import dataclass
from typing import Any

folder = pathlib.Path(sys.argv[1])


@dataclass
class ExecResult:
    success: bool
    returncode: int
    stdout: Any
    stderr: Any


class SandboxEnvironment:
    def as_type(self, kind):
        return self


class SandboxUnavailableError(RuntimeError):
    pass


def package(name):
    made = types.ModuleType(name)
    made.__path__ = []
    sys.modules[name] = made
    return made


def load(name):
    full = "inspect_ai.util._sandbox." + name
    spec = importlib.util.spec_from_file_location(full, folder / (name + ".py"))
    made = importlib.util.module_from_spec(spec)
    sys.modules[full] = made
    spec.loader.exec_module(made)
    return made


package("inspect_ai")
util = package("inspect_ai.util")
package("inspect_ai.util._sandbox")
limits = load("limits")
util.ExecResult = ExecResult
util.SandboxEnvironment = SandboxEnvironment
util.SandboxUnavailableError = SandboxUnavailableError
util.OutputLimitExceededError = limits.OutputLimitExceededError
util.SandboxEnvironmentLimits = limits.SandboxEnvironmentLimits
util.sandboxenv = lambda name: lambda kind: kind
self_check = load("self_check").self_check

from brig_sandbox.adapters.inspect_ai import BrigSandboxEnvironment  # noqa: E402: after the stand-ins


async def use():
    environments = await BrigSandboxEnvironment.sample_init("self check", "python", {})
    try:
        return await self_check(environments["default"])
    finally:
        await BrigSandboxEnvironment.sample_cleanup("self check", "python", environments, False)


results = asyncio.run(use())
for name, outcome in results.items():
    if outcome is not True:
        print("FAILED", name, str(outcome)[:300])
print(sum(outcome is True for outcome in results.values()), len(results))
