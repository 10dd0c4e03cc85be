"""Run unittest with the arguments after the first, and write its outcomes to the file named first."""
import json, os, sys, unittest

cases = {}


class Result(unittest.TextTestResult):
    def record(self, test, status, err=None):
        if status != "passed" or test.id() not in cases:
            cases[test.id()] = (status, self._exc_info_to_string(err, test) if isinstance(err, tuple) else err or "")

    def addSuccess(self, test):
        super().addSuccess(test)
        self.record(test, "passed")

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self.record(test, "failed", err)

    def addError(self, test, err):
        super().addError(test, err)
        self.record(test, "failed", err)

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self.record(test, "skipped", reason)

    def addExpectedFailure(self, test, err):
        super().addExpectedFailure(test, err)
        self.record(test, "passed")

    def addUnexpectedSuccess(self, test):
        super().addUnexpectedSuccess(test)
        self.record(test, "failed", "it passed, and was expected to fail")

    def addSubTest(self, test, subtest, err):
        super().addSubTest(test, subtest, err)
        if err is not None:
            self.record(test, "failed", err)


report = os.path.abspath(sys.argv[1])
program = unittest.main(module=None, argv=["unittest"] + sys.argv[2:], exit=False,
                        testRunner=unittest.TextTestRunner(resultclass=Result))
with open(report, "w") as f:
    json.dump({"cases": [{"id": k, "status": s, "message": m[-4000:]} for k, (s, m) in cases.items()]}, f)
sys.exit(0 if program.result.wasSuccessful() else 1)
