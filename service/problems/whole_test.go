package problems

import (
	"io"
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/api"
)

// The service runs nothing of a package when it stores it: one whose tests its own programs would make, or
// whose validator a script would build, is refused, and the error says what to do.
func TestPackagesThatAreNotWholeAreRefused(t *testing.T) {
	for name, files := range map[string]map[string]string{
		"generated": {
			"problem.xml": `<problem short-name="generated"><judging><testset name="tests"><time-limit>1000</time-limit><memory-limit>268435456</memory-limit><test-count>1</test-count>
<input-path-pattern>tests/%d</input-path-pattern><answer-path-pattern>tests/%d.a</answer-path-pattern><tests><test method="generated" cmd="gen 1"/></tests></testset></judging>
<files><executables><executable><source path="gen.py" type="python.3"/></executable></executables></files><assets><checker><source path="check.py" type="python.3"/></checker>
<solutions><solution tag="main"><source path="main.py" type="python.3"/></solution></solutions></assets></problem>`,
			"gen.py": "", "check.py": "", "main.py": "",
		},
		"built": {
			"problem.yaml": "problem_format_version: 2025-09\nname: Built\nuuid: " +
				"0c1bd2e4-0000-4000-8000-000000000009\nlimits: {time_limit: 1}\n",
			"data/secret/1.in": "", "data/secret/1.ans": "", "input_validators/v.py": "", "output_validator/build": "", "output_validator/v.cc": "",
			"submissions/accepted/a.py": "",
		},
	} {
		if _, err := Read(name, packed(t, files), io.Discard); !api.HasCode(err, api.CodeBadProblem) ||
			!strings.Contains(err.Error(), "brig problem generate PACKAGE --out FILE.zip") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
