package judge

import (
	"fmt"

	"github.com/brig-sandbox/brig/api"
)

// PythonChecker is the file of the user's source for the protocol python.
const PythonChecker = "checker.py"

// PythonWrapper is the program that calls the function check of PythonChecker. What the function prints
// goes to stderr, so that it cannot be taken for the result.
var PythonWrapper = api.Bytes(fmt.Sprintf(`import os, sys
out = os.fdopen(os.dup(1), "w", encoding="utf-8", errors="replace")
os.dup2(2, 1)
names = {"__name__": "checker", "__file__": %[1]q}
with open(%[1]q, "rb") as f:
    exec(compile(f.read(), %[1]q, "exec"), names)
files = []
for name in (%[2]q, %[3]q, %[4]q):
    with open(name, "rb") as f:
        files.append(f.read())
said = names["check"](*files)
text = ""
if isinstance(said, tuple):
    said, text = said
if isinstance(said, bool):
    said = float(said)
elif not isinstance(said, (int, float)):
    raise TypeError("check returned %%r: it must return True, False or a number between 0 and 1, or a pair of one of these and a message" %% (said,))
out.write("%%r\n%%s" %% (float(said), text))
out.flush()
`, PythonChecker, InputFile, OutputFile, AnswerFile))
