"""The bodies of requests, which the synchronous and the asynchronous client have in common. Nothing here sends."""

from __future__ import annotations

from typing import Any, Dict, Iterable, List, Mapping, Optional, Sequence

from ._blobs import FileContent, file_body
from ._checks import check
from ._grading import CaseItem, case_of
from ._limits import ResourceLimits, span
from ._network import to_api
from ._result import Content, encode

# The language that has what runs a report's cases.
_USUAL = {"pytest": "python-full", "unittest": "python", "jest": "javascript-full", "pester": "powershell", "junit": "javascript"}


class Runs:
    """What is common to all requests of one client: default limits and labels."""

    default_limits: Optional[ResourceLimits]
    project: str
    task: str
    run: str

    def _labels(self, project: Optional[str], task: Optional[str]) -> Dict[str, str]:
        own = (
            ("project", self.project if project is None else project),
            ("task", self.task if task is None else task),
            ("run", self.run),
        )
        return {k: v for k, v in own if v}

    def _run(
        self,
        code: Content,
        language: str,
        limits: Optional[ResourceLimits],
        env_vars: Optional[Mapping[str, str]],
        files: Optional[Mapping[str, FileContent]],
        project: Optional[str],
        task: Optional[str],
    ) -> Dict[str, Any]:
        """The part that all requests for runs have in common."""
        check(code=code, language=language, limits=limits, env_vars=env_vars, files=files, project=project, task=task)
        body: Dict[str, Any] = {"language": language, "source": encode(code)}
        limits = limits or self.default_limits
        if limits is not None:
            body["limits"] = limits.to_api()
        if env_vars:
            body["env"] = dict(env_vars)
        if files:
            body["files"] = [file_body(name, content) for name, content in files.items()]
        labels = self._labels(project, task)
        if labels:
            body["labels"] = labels
        return body

    def _execute_body(
        self,
        code: str,
        language: str,
        limits: Optional[ResourceLimits],
        network_enabled: bool,
        env_vars: Optional[Mapping[str, str]],
        files: Optional[Mapping[str, FileContent]],
        read_only: bool,
        allow: Optional[Sequence[str]],
        requirements: Optional[Sequence[str]],
        stdin: Content,
        mode: Optional[str],
        timeline_seconds: Optional[float],
        keep_files: bool,
        project: Optional[str],
        task: Optional[str],
    ) -> Dict[str, Any]:
        check(keep_files=keep_files)
        check(network_enabled=network_enabled, read_only=read_only, allow=allow, requirements=requirements, stdin=stdin, mode=mode, timeline_seconds=timeline_seconds)
        network = to_api(network_enabled, allow)
        body = self._run(code, language, limits, env_vars, files, project, task)
        body.update(network)
        if requirements:
            body["requirements"] = list(requirements)
        if not read_only:
            body["writable_root"] = True
        if stdin:
            body["stdin"] = encode(stdin)
        if mode is not None:
            body["mode"] = mode
        if timeline_seconds is not None:
            body["timeline"] = {"every": span(timeline_seconds)}
        if keep_files:
            body["collect"] = {"blobs": True}
        return body

    def _tests_body(
        self,
        code: str,
        tests: Iterable[CaseItem],
        language: str,
        limits: Optional[ResourceLimits],
        compare: str,
        tolerance: Optional[float],
        stop_at_failure: bool,
        input_file: Optional[str],
        output_file: Optional[str],
        mode: Optional[str],
        env_vars: Optional[Mapping[str, str]],
        files: Optional[Mapping[str, Content]],
        project: Optional[str],
        task: Optional[str],
    ) -> Dict[str, Any]:
        check(compare=compare, tolerance=tolerance, stop_at_failure=stop_at_failure, input_file=input_file, output_file=output_file, mode=mode)
        if isinstance(tests, (str, bytes, Mapping)) or not isinstance(tests, Iterable):
            raise TypeError(f'tests is {tests!r:.80}: write a list of tests, such as [{{"stdin": "1 2", "expected": "3"}}] or [("1 2", "3")]')
        asked = [case_of(item).to_api(n) for n, item in enumerate(tests, 1)]
        if not asked:
            raise ValueError("there are no tests: use execute to run code without tests")
        body = self._run(code, language, limits, env_vars, files, project, task)
        body["tests"] = asked
        body["compare"] = {"how": compare}
        if tolerance is not None:
            body["compare"]["tolerance"] = tolerance
        if stop_at_failure:
            body["stop_at_failure"] = True
        if input_file is not None:
            body["input_file"] = input_file
        if output_file is not None:
            body["output_file"] = output_file
        if mode is not None:
            body["mode"] = mode
        return body

    def _grade_body(
        self,
        problem: str,
        source: Content,
        language: str,
        limits: Optional[ResourceLimits],
        files: Optional[Mapping[str, Content]],
        stop_at_failure: bool,
        mode: Optional[str],
        project: Optional[str],
        task: Optional[str],
    ) -> Dict[str, Any]:
        check(problem=problem, source=source, stop_at_failure=stop_at_failure, mode=mode)
        body = self._run(source, language, limits, None, files, project, task)
        if limits is None:
            body.pop("limits", None)
        body["problem"] = problem
        if stop_at_failure:
            body["stop_at_failure"] = True
        if mode is not None:
            body["mode"] = mode
        return body

    def _suite_body(
        self,
        code: Content,
        files: Mapping[str, Content],
        report: str,
        language: Optional[str],
        limits: Optional[ResourceLimits],
        source_name: Optional[str],
        command: Optional[Sequence[str]],
        cases: Optional[int],
        mode: Optional[str],
        env_vars: Optional[Mapping[str, str]],
        project: Optional[str],
        task: Optional[str],
    ) -> Dict[str, Any]:
        check(report=report, source_name=source_name, cases=cases, mode=mode)
        if command is not None:
            check(command=command)
        spoken = _USUAL.get(report, "python") if language is None else language
        body = self._run(code, spoken, limits, env_vars, files, project, task)
        body["source_name"] = source_name or "solution" + {"javascript": ".js", "powershell": ".ps1"}.get(spoken.removesuffix("-full"), ".py")
        body["suite"] = {"report": report}
        if command is not None:
            body["suite"]["command"] = list(command)
        if cases is not None:
            body["suite"]["cases"] = cases
        if mode is not None:
            body["mode"] = mode
        return body

    def _session_body(
        self,
        language: Optional[str],
        image: Optional[str],
        project: Optional[str],
        task: Optional[str],
        limits: Optional[ResourceLimits],
        volume: Optional[Dict[str, Any]],
        env_vars: Optional[Mapping[str, str]],
        read_only: bool,
        requirements: Optional[Sequence[str]],
        idle_seconds: Optional[float],
        life_seconds: Optional[float],
        snapshot: Optional[str],
        own_image: bool,
    ) -> Dict[str, Any]:
        check(snapshot=snapshot, own_image=own_image)
        check(language=language, image=image, project=project, task=task, limits=limits, env_vars=env_vars, read_only=read_only, requirements=requirements, idle_seconds=idle_seconds, life_seconds=life_seconds)
        body: Dict[str, Any] = {}
        if image:
            body["image"] = image
        if snapshot:
            body["snapshot"] = snapshot
        if language or not (image or snapshot):
            body["language"] = language or "python"
        limits = limits or self.default_limits
        if limits is not None:
            all_of_it = limits.to_api()
            body["exec_limits"] = {"wall": all_of_it.pop("wall")}
            body["limits"] = all_of_it
        labels = self._labels(project, task)
        if labels:
            body["labels"] = labels
        if volume is not None:
            body["volume"] = volume
        if env_vars:
            body["env"] = dict(env_vars)
        if requirements:
            body["requirements"] = list(requirements)
        if not read_only:
            body["writable_root"] = True
        if own_image:
            body["own_image"] = True
        for name, time in (("idle", idle_seconds), ("life", life_seconds)):
            if time is not None:
                body[name] = span(time)
        return body

    def _batch_head(self, limits: Optional[ResourceLimits], keep_results: bool, project: Optional[str], task: Optional[str]) -> Dict[str, Any]:
        """The first line of a batch."""
        check(limits=limits, keep_results=keep_results, project=project, task=task)
        limits = limits or self.default_limits
        head: Dict[str, Any] = {"defaults": {} if limits is None else {"limits": limits.to_api()}, "keep": "result" if keep_results else "summary"}
        labels = self._labels(project, task)
        if labels:
            head["labels"] = labels
        return head

    def _end_body(self, run: Optional[str], project: str) -> Dict[str, Any]:
        check(run=run, project=project)
        which = self.run if run is None else run
        if not which:
            raise ValueError("run is empty: say which run is to be ended")
        body = {"run": which}
        if project:
            body["project"] = project
        return body


def exec_body(
    body: Dict[str, Any],
    stdin: Content,
    env_vars: Optional[Mapping[str, str]],
    limits: Dict[str, Any],
    timeline_seconds: Optional[float],
) -> Dict[str, Any]:
    """The request of an exec in a session; body says what is executed."""
    check(stdin=stdin, env_vars=env_vars, timeline_seconds=timeline_seconds)
    if stdin:
        body["stdin"] = encode(stdin)
    if env_vars:
        body["env"] = dict(env_vars)
    if limits:
        body["limits"] = limits
    if timeline_seconds is not None:
        body["timeline"] = {"every": span(timeline_seconds)}
    return body


def list_of(said: Any) -> List[Dict[str, Any]]:
    """The items of a list or of a page."""
    found = said.get("items") if isinstance(said, dict) else said
    if not isinstance(found, list):
        from ._errors import InfraError

        raise InfraError("the answer has no list: is this a brig service?", code="bad-answer")
    return found
