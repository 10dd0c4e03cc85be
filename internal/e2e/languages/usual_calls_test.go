package languages

import (
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/e2e/harness"
	"github.com/brig-sandbox/brig/judge/diagnose"
	"github.com/brig-sandbox/brig/rootfs/languages"
)

// usualCases are the starts and failures of every language whose refused calls are recorded in
// usualCallsFile: no note tells of them.
var usualCases = []string{"hello", "broken", "exception", "abort"}

const usualCallsFile = "../../../judge/diagnose/usual.txt"

// wantUsual fails the test if a refused call of a usual case is not recorded, or a note would tell of
// it. With -update it records what is new.
func wantUsual(t *testing.T, l languages.Manifest, run api.Run, res api.Result) {
	t.Helper()
	if *harness.Update {
		newUsual.add(l.Name, res)
		newUsual.add(l.Name, newUsual.plain.MustRun(t, run))
		return
	}

	for _, one := range res.Refused {
		if !diagnose.IsUsual(l.Name, res.Stage, one) {
			t.Errorf("the %s stage is refused %s (%s) %d times, which is not recorded: if no program needs it, "+
				"record it with -update", res.Stage,
				one.Syscall, one.Errno, one.Count)
		}
	}

	if told := diagnose.RelevantRefusals(l.Name, res); len(told) > 0 {
		t.Errorf("a note tells of %+v", told)
	}
}

// A usualRecord is what -update adds to usualCallsFile.
type usualRecord struct {
	plain *harness.Agent // one without templates, where every run starts its interpreter

	mu    sync.Mutex
	lines map[string]bool // guarded by mu
}

var newUsual = usualRecord{lines: map[string]bool{}}

// add records the refused calls of a result. The line of a language alone says that it has a record.
func (u *usualRecord) add(language string, res api.Result) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.lines[language] = true
	for _, one := range res.Refused {
		u.lines[strings.Join([]string{language, string(res.Stage), one.Syscall, one.Errno}, " ")] = true
	}
}

// write adds what was recorded to the file. It removes no line: delete those of a language to record it
// anew.
func (u *usualRecord) write(t *testing.T) {
	t.Helper()
	text, err := os.ReadFile(usualCallsFile)
	if err != nil {
		t.Fatal(err)
	}

	var head []string
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSuffix(line, "\n")
		if strings.HasPrefix(line, "#") {
			head = append(head, line)
		} else {
			u.lines[line] = true
		}
	}

	all := append(head, slices.Sorted(maps.Keys(u.lines))...)
	if err := os.WriteFile(usualCallsFile, []byte(strings.Join(all, "\n")+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
}
