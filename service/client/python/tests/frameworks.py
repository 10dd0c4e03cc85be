"""Stand-ins for what the adapters import: names and shapes alone, so that the adapters run without the frameworks."""

import enum
import logging
import types
from dataclasses import dataclass, field
from typing import Any, Dict, Optional


@dataclass
class Said:
    """Any of the results that the frameworks define: what was given, by position or by name."""

    success: bool = False
    returncode: int = 0
    stdout: str = ""
    stderr: str = ""
    exit_code: Optional[int] = None
    output: Any = None
    logs: str = ""
    is_final_answer: bool = False
    truncated: bool = False
    path: str = ""
    content: Optional[bytes] = None
    error: Optional[str] = None
    metrics: Dict[str, Any] = field(default_factory=dict)


class Base:
    """The base classes of the frameworks."""

    def as_type(self, kind: type) -> Any:
        return self


class Config:
    """As pydantic.BaseModel: fields are set by name."""

    def __init__(self, **fields: Any) -> None:
        for name, value in fields.items():
            setattr(self, name, value)


class Dumped(Config):
    """As a configuration of pydantic, which can be told as a dict. Defaults are in the class."""

    def model_dump(self) -> Dict[str, Any]:
        return dict(vars(self))


class Info(Dumped):
    id: Optional[str] = None


class Runtime:
    """As Runtime of verifiers."""

    def __init__(self, name: Optional[str]) -> None:
        self.env: Dict[str, str] = {}

    def process_env(self, env: Dict[str, str]) -> Dict[str, str]:
        return {**self.env, **env}


class Environment:
    """As BaseEnvironment of Harbor: task is the configuration, and persistent_env holds for every command."""

    def __init__(self, environment_name: str, task_env_config: Any, persistent_env: Dict[str, str]) -> None:
        self.environment_name, self.task_env_config = environment_name, task_env_config
        self.logger = logging.getLogger("tests")
        self.default_user: Any = None
        self._persistent_env = persistent_env
        self._validate_definition()

    def _validate_definition(self) -> None:
        raise NotImplementedError

    def _resolve_user(self, user: Any) -> Any:
        return user if user is not None else self.default_user

    def _merge_env(self, env: Optional[Dict[str, str]]) -> Dict[str, str]:
        return {**self._persistent_env, **(env or {})}


@dataclass
class Program:
    """The result of a program, of NeMo Gym, Harbor or verifiers."""

    stdout: Optional[str] = None
    stderr: Optional[str] = None
    return_code: int = 0
    error_type: Optional[str] = None
    exit_code: Optional[int] = None


@dataclass
class Handle:
    sandbox_id: str
    provider_name: str
    raw: Any


@dataclass
class Resources:
    cpu: Optional[float] = None
    memory_mib: Optional[int] = None
    gpu: Optional[int] = None


@dataclass
class Spec:
    image: Optional[str] = None
    ttl_s: Optional[float] = None
    ready_timeout_s: Optional[float] = None
    workdir: Optional[str] = None
    env: Dict[str, str] = field(default_factory=dict)
    resources: Resources = field(default_factory=Resources)
    entrypoint: Any = None
    provider_options: Dict[str, Any] = field(default_factory=dict)
    ports: Any = ()


class Status(enum.Enum):
    RUNNING = 1
    STOPPED = 2
    ERROR = 3
    UNKNOWN = 4


class CreateError(RuntimeError):
    pass


class BuildFailed(Exception):
    pass


class RolloutError(Exception):
    pass


class Remote:
    """As RemotePythonExecutor of smolagents, without its tools."""

    FINAL_ANSWER_EXCEPTION = "FinalAnswerException"

    def __init__(self, additional_imports: Any, logger: Any, allow_pickle: bool) -> None:
        self.logger = logger
        self.allow_pickle = allow_pickle

    @staticmethod
    def _deserialize_final_answer(text: str, allow_pickle: bool) -> str:
        return text


class Unavailable(RuntimeError):
    pass


class TooMuch(Exception):
    pass


class Terminated(Exception):
    pass


class AgentError(Exception):
    def __init__(self, message: str, logger: Any) -> None:
        super().__init__(message)


class InterpreterError(RuntimeError):
    pass


class CodeError(InterpreterError):
    pass


@dataclass
class Final:
    output: Any


class Limits:
    MAX_EXEC_OUTPUT_SIZE = 10 << 20
    MAX_EXEC_OUTPUT_SIZE_STR = "10 MiB"
    MAX_READ_FILE_SIZE = 1 << 22
    MAX_READ_FILE_SIZE_STR = "4 MiB"


def _registered(name: str) -> Any:
    return lambda kind: kind


_MODULES: Dict[str, Dict[str, Any]] = {
    "pydantic": {"BaseModel": Config},
    "inspect_ai.util": {
        "ExecResult": Said,
        "OutputLimitExceededError": TooMuch,
        "SandboxEnvironment": Base,
        "SandboxEnvironmentLimits": Limits,
        "SandboxUnavailableError": Unavailable,
        "sandboxenv": _registered,
    },
    "deepagents.backends.protocol": {"ExecuteResponse": Said, "FileDownloadResponse": Said, "FileUploadResponse": Said},
    "deepagents.backends.sandbox": {"BaseSandbox": Base},
    "tinker_cookbook.exceptions": {"SandboxError": RuntimeError},
    "tinker_cookbook.sandbox.sandbox_interface": {"SandboxResult": Said, "SandboxTerminatedError": Terminated},
    "nemo_gym.sandbox.providers.base": {
        "SandboxCreateError": CreateError,
        "SandboxExecResult": Program,
        "SandboxHandle": Handle,
        "SandboxSpec": Spec,
        "SandboxStatus": Status,
    },
    "harbor.environments.base": {"BaseEnvironment": Environment, "ExecResult": Program, "SandboxBuildFailedError": BuildFailed},
    "harbor.environments.capabilities": {"EnvironmentCapabilities": Config},
    "pydantic_config": {"BaseConfig": Dumped},
    "verifiers.v1.errors": {"SandboxError": RolloutError},
    "verifiers.v1.runtimes.base": {"BaseRuntimeInfo": Info, "ProgramResult": Program, "Runtime": Runtime, "RuntimeProcess": Base, "register": lambda runtime: None},
    "smolagents.local_python_executor": {"CodeOutput": Said},
    "smolagents.remote_executors": {"RemotePythonExecutor": Remote},
    "smolagents.utils": {"AgentError": AgentError},
    "dspy.primitives.code_interpreter": {"CodeExecutionError": CodeError, "CodeInterpreterError": InterpreterError, "FinalOutput": Final},
}


def modules() -> Dict[str, types.ModuleType]:
    """Modules for sys.modules, with their packages."""
    made: Dict[str, types.ModuleType] = {}
    for name, names in _MODULES.items():
        parts = name.split(".")
        for n in range(1, len(parts) + 1):
            package = ".".join(parts[:n])
            module = made.setdefault(package, types.ModuleType(package))
            if n > 1:
                setattr(made[".".join(parts[: n - 1])], parts[n - 1], module)
        for attribute, value in names.items():
            setattr(made[name], attribute, value)
    return made

