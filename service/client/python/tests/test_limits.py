import unittest
import warnings
from typing import Any

from brig_sandbox import CodeSandbox, ResourceLimits
from brig_sandbox._limits import parse_size


class Limits(unittest.TestCase):
    def test_defaults(self) -> None:
        self.assertEqual(
            ResourceLimits(),
            ResourceLimits(memory_limit="512m", memory_swap=None, cpu_quota=100000, cpu_period=100000, cpu_shares=1024, pids_limit=100, timeout_seconds=30),
        )
        self.assertEqual(ResourceLimits().to_api(), {"memory": 512 << 20, "cpus": 1.0, "weight": 1024, "pids": 100, "wall": "30.000000s"})

    def test_what_is_sent(self) -> None:
        limits = ResourceLimits(memory_limit="64m", memory_swap="96m", cpu_quota=50000, cpu_shares=512, pids_limit=10, timeout_seconds=0.25)
        self.assertEqual(limits.to_api(), {"memory": 64 << 20, "swap": 32 << 20, "cpus": 0.5, "weight": 512, "pids": 10, "wall": "0.250000s"})
        self.assertNotIn("swap", ResourceLimits(memory_limit="64m", memory_swap="64m").to_api())

    def test_a_long_timeout_is_clamped_with_a_warning(self) -> None:
        with self.assertWarns(UserWarning) as seen:
            limits = ResourceLimits(timeout_seconds=31)
        self.assertEqual(limits.timeout_seconds, 30)
        self.assertEqual(seen.filename, __file__)  # the warning points at the caller
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            self.assertEqual(ResourceLimits(timeout_seconds=30).timeout_seconds, 30)

    def test_sizes(self) -> None:
        for text, want in {"4096": 4096, "1k": 1024, "512m": 512 << 20, "512M": 512 << 20, "512MiB": 512 << 20, "2GB": 2 << 30, "1.5g": 3 << 29, " 7b ": 7, "1t": 1 << 40}.items():
            self.assertEqual(parse_size(text), want, text)

    def test_nonsense_is_refused(self) -> None:
        for text in ("", "m", "-1m", "1x", "1e3", "0x10", "nan", "१m", "1m; 2m"):
            with self.assertRaises(ValueError, msg=text):
                ResourceLimits(memory_limit=text)
        for bad in ({"cpu_quota": 0}, {"cpu_period": 0}, {"pids_limit": -1}, {"cpu_shares": 0}, {"timeout_seconds": 0}, {"timeout_seconds": float("nan")}, {"memory_swap": "1m"}):
            with self.assertRaises(ValueError, msg=str(bad)):
                ResourceLimits(**bad)  # type: ignore[arg-type]

    def test_what_is_of_another_type_is_told_what_to_write(self) -> None:
        for wrong, text in (
            ({"memory_limit": 256}, 'memory_limit is 256: write a text with a unit, such as "256m"'),
            ({"memory_limit": 268435456}, 'memory_limit is 268435456: write a text with a unit, such as "268435456"'),
            ({"memory_swap": 1.5}, 'memory_swap is 1.5: write a text with a unit, such as "512m"'),
            ({"timeout_seconds": "5"}, "timeout_seconds is '5': write a number"),
            ({"pids_limit": "5"}, "pids_limit is '5': write a number"),
            ({"cpu_quota": True}, "cpu_quota is True: write a number"),
        ):
            with self.subTest(wrong), self.assertRaises(TypeError) as raised:
                ResourceLimits(**wrong)  # type: ignore[arg-type]
            self.assertEqual(str(raised.exception), text)
        bad: Any
        for bad in ({"memory_limit": "1m"}, 5):
            with self.assertRaisesRegex(TypeError, self.LIMITS):
                CodeSandbox(bad)
            with self.assertRaisesRegex(TypeError, self.LIMITS):
                CodeSandbox().execute("x", limits=bad)
            with self.assertRaisesRegex(TypeError, self.LIMITS):
                CodeSandbox().run_tests("x", [("", "")], limits=bad)
            with self.assertRaisesRegex(TypeError, self.LIMITS):
                CodeSandbox().create_session(limits=bad)

    LIMITS = r'limits (is|must be) .*ResourceLimits, such as ResourceLimits\(memory_limit="256m", timeout_seconds=5\)'
