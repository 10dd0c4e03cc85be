package compatibility

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/brig-sandbox/brig/internal/e2e/harness"
	"github.com/brig-sandbox/brig/internal/testenv"
)

const examplesDir = "../../../examples"

// printed is the part of an example's page that shows what its command prints: from a line on, to the end of the block.
func printed(t *testing.T, page, from string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(examplesDir, page, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(text), "\n"+from+"\n")
	block, _, closed := strings.Cut(rest, "```")
	if !found || !closed {
		t.Fatalf("%s/README.md has no block with the line %q", page, from)
	}
	return from + "\n" + block
}

const verlTrial = `
import os, reward
from brig_sandbox import InfraError
truth = {"inputs": ["2 40", "-5 5"], "outputs": ["42", "0"]}
import json
fence = chr(96) * 3
def answer(code): return f"Thoughts.\n{fence}python\nprint('a draft')\n{fence}\nBetter:\n{fence}python\n{code}\n{fence}\n"
right = "print(sum(map(int, input().split())))"
for code in (right, "print(42)", "import os; os._exit(1)"):
    print(reward.compute_score("sums", answer(code), truth))
usual, reward._box = reward._box, reward.CodeSandbox(reward.ResourceLimits(timeout_seconds=1))
print(reward.compute_score("sums", answer("while True: pass"), truth))
reward._box = usual
print(reward.compute_score("sums", answer(right), json.dumps(truth)), reward.compute_score("sums", "no code", truth))
reward._box = reward.CodeSandbox(url="http://127.0.0.1:1", room_timeout=0, away_timeout=0)
try:
    print(reward.compute_score("sums", answer(right), truth))
except InfraError:
    print("a failure, and no reward")
`

const inspectTrial = `
import asyncio, functools, os, sys, types
sys.path.insert(0, os.environ["STAND_INS"])
from unittest import mock
from tests import frameworks
from types import SimpleNamespace as Made

known = frameworks.modules()
def module(name, **has):
    m = known.setdefault(name, types.ModuleType(name))
    for k, v in has.items(): setattr(m, k, v)
open_now = []
module("inspect_ai", Task=Made, task=lambda f: f)
module("inspect_ai.dataset", Sample=Made)
module("inspect_ai.solver", generate=lambda: None)
module("inspect_ai.scorer", CORRECT="C", INCORRECT="I", Score=Made, accuracy=lambda: None, scorer=lambda **_: lambda f: f)
module("inspect_ai.util", sandbox=lambda: open_now[-1])
sys.modules.update(known)

import task
from brig_sandbox.adapters.inspect_ai import BrigSandboxEnvironment as Environment
made = task.programs()
kind, config = made.sandbox
answers = ["print(sum(map(int, input().split())))", "print(input())"]

async def use():
    for sample, code in zip(made.dataset, answers):
        boxes = await Environment.sample_init("programs", config, {})
        open_now.append(boxes["default"])
        try:
            fence = chr(96) * 3
            state = Made(output=Made(completion=f"Here:\n{fence}python\n{code}\n{fence}"), metadata=sample.metadata)
            print(kind, (await made.scorer(state, Made(text=sample.target))).value)
        finally:
            await Environment.sample_cleanup("programs", config, boxes, False)
asyncio.run(use())
`

const pistonTrial = `
import os, piston
fence = chr(96) * 3
def say(text):
    found = piston.read(text)
    print(found if found is None else piston.reply(piston.execute(os.environ["PISTON_URL"], *found), 60).replace(fence, "|"))
say(f"!run {fence}python\nprint(int(input()) * 2)\n{fence}\n{fence}\n21\n{fence}")
say(f"!run {fence}python\nprint(chr(96) * 3 + 'out')\n{fence}")
say(f"!run {fence}python\nprint('x' * 100)\n{fence}")
say(f"!run {fence}python\nraise SystemExit(3)\n{fence}")
say(f"!run {fence}cobol\nx\n{fence}")
say("!run print(1)")
`

// The code of each example does against a service what its page says. The frameworks are not installed: what stands
// for them is said in the pages.
func TestExamples(t *testing.T) {
	python := testenv.NeedTool(t, "python3", "python3")
	a := harness.StartAgent(t, harness.SharedFlags...)
	a.NeedPython(t)
	s := harness.StartService(t, a, "--dialect", "piston", "--dialect", "jobe", "--dialect", "librechat")
	client, err := filepath.Abs("../../../service/client/python")
	if err != nil {
		t.Fatal(err)
	}

	question := printed(t, "coderunner-question", "test 1: outcome 15, passed")
	for _, tt := range []struct {
		dir    string
		name   string
		args   []string
		stdout string
	}{
		{"course-grader", "the page", []string{"grade.py", "tests", "submissions"}, printed(t, "course-grader", "name,passed,of,first failure")},
		{"coderunner-question", "the answer", []string{"try_question.py", s.Url, "question.xml"}, question},
		{"coderunner-question", "a wrong one", []string{"try_question.py", s.Url, "question.xml", "../course-grader/submissions/ann.py"},
			"test 1: outcome 12, failed\ntest 2: outcome 12, failed\n0 of 2\n"},
		{"verl-reward", "rewards", []string{"-c", verlTrial}, "1.0\n0.5\n0.0\n0.0\n1.0 0.0\na failure, and no reward\n"},
		{"inspect-ai-task", "scores", []string{"-c", inspectTrial}, "brig C\nbrig I\n"},
		{"librechat", "what its model reads", []string{"try_librechat.py"}, printed(t, "librechat", "still kept: True")},
		{"discord-piston", "replies", []string{"-c", pistonTrial}, "|\n42\n\n|\n|\n`\u200b`\u200b`out\n\n|\n|\n" + strings.Repeat("x", 60) +
			"\n(cut)\n|\nNo output.\nExited with error status 3\nNot run: cobol-* runtime is unknown\nNone\n"},
	} {
		t.Run(tt.dir+"/"+tt.name, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), python, append([]string{"-B"}, tt.args...)...)
			cmd.Dir = filepath.Join(examplesDir, tt.dir)
			cmd.Env = append(os.Environ(), "BRIG_URL="+s.Url, "BRIG_API_KEY=", "PISTON_URL="+s.Url+"/piston",
				"LIBRECHAT_CODE_BASEURL="+s.Url+"/librechat/v1",
				"PYTHONPATH="+client, "STAND_INS="+client, "PYTHONIOENCODING=utf-8")
			var said bytes.Buffer
			cmd.Stderr = &said
			out, err := cmd.Output()
			if err != nil || string(out) != tt.stdout {
				t.Errorf("%v: printed\n%s%s\nwant\n%s", err, out, &said, tt.stdout)
			}
		})
	}

	t.Run("mcp-editor", func(t *testing.T) { editors(t, a, s) })
	t.Run("all have a test and a page", func(t *testing.T) { inventory(t) })
}

// editors starts the servers of the editors' files as an editor does: the command in PATH, and what the file sets.
func editors(t *testing.T, a *harness.Agent, s *harness.Service) {
	for _, file := range []string{"mcp.json", "vscode-mcp.json"} {
		text, err := os.ReadFile(filepath.Join(examplesDir, "mcp-editor", file))
		if err != nil {
			t.Fatal(err)
		}
		type server struct {
			Command string
			Args    []string
			Env     map[string]string
		}
		var f struct {
			MCPServers map[string]server `json:"mcpServers"`
			Servers    map[string]server
		}
		if err := json.Unmarshal(text, &f); err != nil {
			t.Fatalf("%s: %v", file, err)
		}

		one, found := f.MCPServers["brig"]
		if !found {
			one, found = f.Servers["brig"]
		}
		if !found || one.Command != "brig" {
			t.Fatalf("%s has no server brig: %+v", file, f)
		}

		cmd := exec.Command(harness.Binary(t, "brig"), one.Args...)
		cmd.Env = append(os.Environ(), "BRIG_SOCKET="+a.Socket)
		for name := range one.Env {
			value := map[string]string{"BRIG_URL": s.Url, "BRIG_API_KEY": ""} // what a user puts there
			if _, known := value[name]; !known {
				t.Errorf("%s sets %s", file, name)
			}
			cmd.Env = append(cmd.Env, name+"="+value[name])
		}
		cmd.Stderr = os.Stderr

		editor := sdk.NewClient(&sdk.Implementation{Name: "editor", Version: "1"}, nil)
		c, err := editor.Connect(t.Context(), &sdk.CommandTransport{Command: cmd}, nil)
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		program := map[string]any{"language": "python", "code": "print(6 * 7)"}
		res, err := c.CallTool(t.Context(), &sdk.CallToolParams{Name: "run_code", Arguments: program})
		if err != nil || res.IsError || !strings.Contains(res.Content[0].(*sdk.TextContent).Text, "42") {
			t.Errorf("%s: %v, %+v", file, err, res)
		}
		if err := c.Close(); err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
}

// inventory holds that every example is listed, and says what was tried.
func inventory(t *testing.T) {
	index, err := os.ReadFile(filepath.Join(examplesDir, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(examplesDir)
	if err != nil {
		t.Fatal(err)
	}

	tested := []string{"course-grader", "coderunner-question", "verl-reward", "inspect-ai-task", "discord-piston", "mcp-editor", "librechat"}
	for _, e := range entries {
		if !e.IsDir() {
			continue
		}
		page, err := os.ReadFile(filepath.Join(examplesDir, e.Name(), "README.md"))
		if err != nil {
			t.Error(err)
		}
		listed := bytes.Contains(index, []byte("]("+e.Name()+"/README.md)"))
		if !slices.Contains(tested, e.Name()) || !listed || !bytes.Contains(page, []byte("**Tested:**")) {
			t.Errorf("%s is not tested, not in the index, or does not say what was tested", e.Name())
		}
	}
}
