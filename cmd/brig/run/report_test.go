package run

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/cmd/brig/cli"
	"github.com/brig-sandbox/brig/internal/terminal"
)

// FIO-12: a program chooses the names of the files that come back. Names with control characters
// are written neither to the caller's disk nor to the terminal. The control of the test: the file
// system would accept such names.
func TestNamesThatATerminalObeysAreNotWritten(t *testing.T) {
	const evil = "evil\x1b[31m\n.txt"
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "control"+evil), nil, 0o600); err != nil {
		t.Fatalf("the control: %v", err)
	}

	out := filepath.Join(dir, "out")
	files := []api.File{{Name: evil, Content: []byte("x")}, {Name: "a\u009bb/c", Content: []byte("x")},
		{Name: "größe 日本.txt", Content: []byte("x")}}
	var said bytes.Buffer
	c := &cli.CLI{Stdout: &said, Stderr: &said}
	if code := printReport(c, &runOptions{out: out}, api.Result{Verdict: api.OK, Files: files}); code != 0 {
		t.Errorf("exit code %d", code)
	}

	left, err := os.ReadDir(out)
	if err != nil || len(left) != 1 || left[0].Name() != "größe 日本.txt" {
		t.Errorf("written: %v, %v", left, err)
	}

	for _, want := range []string{`"evil\x1b[31m\n.txt" was not collected: its name has control characters`, `"a\u009bb/c" was not`} {
		if !strings.Contains(said.String(), want) {
			t.Errorf("it says\n%q\nwant %s", said.String(), want)
		}
	}

	if strings.ContainsAny(said.String(), "\x1b\u009b") {
		t.Errorf("it says %q", said.String())
	}
	if got := terminal.Quote("tab\tand \xff"); got != `"tab\tand \xff"` {
		t.Errorf("printable: %s", got)
	}
	if got := terminal.Quote("größe 日本.txt"); got != "größe 日本.txt" {
		t.Errorf("printable: %s", got)
	}
}

// FIO-19: what brig says may quote a submission, a test or a server's answer.
func TestWordsThatATerminalObeysAreNotWritten(t *testing.T) {
	for text, want := range map[string]string{
		"größe 日本\tin 2\nlines\r\n": "größe 日本\tin 2\nlines\r\n",
		"a\x1b[2Jb\rc":              `a\x1b[2Jb\rc`,
		"\u009b31m \x9b31m \x7f":    `\u009b31m \x9b31m \x7f`,
		"right to left: \u202e":     `right to left: \u202e`,
		"":                          "",
	} {
		var b bytes.Buffer
		if n, err := (terminal.Writer{To: &b}).Write([]byte(text)); n != len(text) || err != nil || b.String() != want {
			t.Errorf("%q: wrote %q, %d, %v; want %q, %d", text, b.String(), n, err, want, len(text))
		}
	}

	if got := terminal.OneLine("a\tb\r\nc\x1b"); got != `a\tb\r\nc\x1b` {
		t.Errorf("in one line: %s", got)
	}
	if got := string(cli.Marshal("\u009b\x7f é")); got != "\"\\u009b\\u007f é\"\n" {
		t.Errorf("as JSON: %s", got)
	}
}

func TestDenialNamesTheProfileThatExplainsIt(t *testing.T) {
	for _, tt := range []struct {
		call, rule  string
		stage       api.Stage
		asked, want string
	}{
		{"ptrace", "default#71", "", "", " (see brig profile explain ptrace)"},
		{"ptrace", "default#71", "", "default", " (see brig profile explain ptrace)"},
		{"ptrace", "managed#71", "", "", " (see brig profile explain ptrace --profile managed)"},
		{"chown", "strict/default", "", "strict", " (see brig profile explain chown --profile strict)"},
		{"clone3", "mine#3", "", "./mine.yaml", " (see brig profile explain clone3 --profile ./mine.yaml)"},
		{"clone3", "strict#3", "", "strict.yaml", " (see brig profile explain clone3 --profile strict.yaml)"},
		{"clone3", "mine#3", "", "my profiles/it's.yaml", ` (see brig profile explain clone3 --profile 'my profiles/it'\''s.yaml')`},
		{"clone3", "lessons#3", "", "lessons", ""}, // only the agent has its file
		{"clone3", "compile#3", api.StageCompile, "mine.yaml", " (see brig profile explain clone3 --profile compile)"},
		{"syscall_999", "default/newer", "", "", ""},
	} {
		got := cli.VerdictText(api.Result{Verdict: api.Denied, Stage: tt.stage,
			Denial: &api.Denial{Syscall: tt.call, Rule: tt.rule, Why: "because"}}, tt.asked)
		if _, see, _ := strings.Cut(got, "because"); see != tt.want {
			t.Errorf("%s by %s under %q: %q; want %q", tt.call, tt.rule, tt.asked, see, tt.want)
		}
	}
}

func TestRefusedCallsAreCountedInWords(t *testing.T) {
	for _, tt := range []struct {
		r    api.Refusal
		want string
	}{
		{api.Refusal{Syscall: "socket", Profile: "default", Errno: "EAFNOSUPPORT", Count: 2},
			"socket 2 times (profile default, error EAFNOSUPPORT)"},
		{api.Refusal{Syscall: "others", Profile: "mine", Count: 1}, "other calls once (profile mine)"},
	} {
		if got := cli.RefusalText(tt.r); got != tt.want {
			t.Errorf("%+v: %q; want %q", tt.r, got, tt.want)
		}
	}
}

// The memory charged to a run and the resident memory of a process are named apart.
func TestStatsDistinguishKindsOfMemory(t *testing.T) {
	for resident, want := range map[int64]string{
		5 << 20: "memory    1M of 64M charged to the run; its largest process had 5M resident\n",
		1 << 19: "memory    1M of 64M\n",
	} {
		r := api.Result{Limits: api.Limits{Memory: 64 * api.MiB},
			Usage: api.Usage{Memory: api.Known(1<<20, "a"), MaxRSS: api.Known(resident, "b")}}
		if got := stats(r, ""); !strings.Contains(got, want) {
			t.Errorf("%s\nwant %s", got, want)
		}
	}
}

// A single request above the limit is told from data that grew.
func TestMemoryVerdictSaysHowItWasMet(t *testing.T) {
	for used, want := range map[int64]string{
		64 << 20: "memory-limit: used 64M of 64M (raise --memory)",
		3 << 20:  "memory-limit: used 3M of 64M, and asked for more than the rest (raise --memory)",
	} {
		r := api.Result{Verdict: api.MemoryLimit, Limits: api.Limits{Memory: 64 * api.MiB}}
		r.Usage.Memory.Value = &used
		if got := cli.VerdictText(r, ""); got != want {
			t.Errorf("%q; want %q", got, want)
		}
	}
}
