//go:build foreign

package grading

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/e2e/harness"
)

const (
	triplesOfChecker = 200
	triplesAtOnce    = 20 // tests of one run
)

// A native is how a checker ended outside of a sandbox.
type native struct {
	code int
	said string
}

// want is what brig must make of it: an answer, or check-failed. It follows testlib's protocol and knows
// nothing of brig's code.
func (n native) want() string {
	var share float64
	switch {
	case n.code == 0:
		return string(api.Accepted)
	case n.code == 1 || n.code == 2 || n.code == 4 || n.code == 8:
		return string(api.WrongAnswer)
	case n.code != 7:
	case strings.HasPrefix(n.said, "points points_info="): // no number: zero points
		return string(api.WrongAnswer)
	case !strings.HasPrefix(n.said, "points "):
	default:
		text, _, _ := strings.Cut(strings.TrimPrefix(n.said, "points "), " ")
		if _, err := fmt.Sscanf(text, "%g", &share); err != nil || strings.ContainsAny(text, "=xXiInN") || !(share >= 0 && share <= 1) {
			break
		}
		switch share {
		case 0:
			return string(api.WrongAnswer)
		case 1:
			return string(api.Accepted)
		}
		return fmt.Sprintf("%s %g", api.Partial, share)
	}

	return string(api.CodeCheckFailed)
}

// A checkerRow is a row of the table.
type checkerRow struct {
	name   string
	counts map[string]int // by what brig must make of a triple; the shares together
	agrees int
	all    int
}

func (r checkerRow) String() string {
	return fmt.Sprintf("| `%s` | %d | %d | %d | %d | %d | %d |\n", r.name, r.all, r.counts[string(api.Accepted)],
		r.counts[string(api.WrongAnswer)],
		r.counts[string(api.Partial)], r.counts[string(api.CodeCheckFailed)], r.agrees)
}

// foreignCheckers compares each checker of testlib with a native run of it.
func foreignCheckers(t *testing.T, a *harness.Agent, dir foreignDir) []checkerRow {
	header, err := os.ReadFile(dir.find("testlib.h"))
	if err != nil {
		t.Fatal(err)
	}

	sources, err := filepath.Glob(filepath.Join(filepath.Dir(dir.find("checkers/wcmp.cpp")), "*.cpp"))
	if err != nil || len(sources) != checkersOfTestlib {
		t.Fatalf("%d checkers of testlib, %v; want %d", len(sources), err, checkersOfTestlib)
	}

	var rows []checkerRow
	for _, source := range sources {
		name := strings.TrimSuffix(filepath.Base(source), ".cpp")
		t.Run(name, func(t *testing.T) {
			text, err := os.ReadFile(source)
			if err != nil {
				t.Fatal(err)
			}
			work := t.TempDir()
			compile := exec.Command("g++", "-O1", "-w", "-I", filepath.Dir(dir.find("testlib.h")), "-o", filepath.Join(work, "checker"), source)
			if out, err := compile.CombinedOutput(); err != nil {
				t.Fatalf("g++: %v: %s", err, out)
			}
			check := &api.Check{Protocol: api.ProtocolTestlib,
				Program: api.Program{Language: "cpp", Source: text, Files: []api.File{{Name: "testlib.h", Content: header}}}}
			rows = append(rows, foreignChecker(t, a, name, work, check))
		})
	}

	return rows
}

// foreignChecker compares one checker on generated triples.
func foreignChecker(t *testing.T, a *harness.Agent, name, work string, check *api.Check) checkerRow {
	row := checkerRow{name: name, counts: map[string]int{}}
	all := triples(name)
	natives := make([]native, len(all))
	var judged, failing []int
	for i, one := range all {
		natives[i] = runNative(t, work, one)
		want := natives[i].want()
		kind, _, _ := strings.Cut(want, " ")
		if row.counts[kind]++; kind == string(api.CodeCheckFailed) {
			failing = append(failing, i)
		} else {
			judged = append(judged, i)
		}
	}

	row.all = len(all)
	agree := func(i int, got, said string) {
		n := natives[i]
		same := got == string(api.CodeCheckFailed) || plain(said) == plain(n.said)
		if got != n.want() || !same {
			t.Errorf("triple %d: brig says %s, %q; natively it exits with %d, %q\noutput %.200q\nanswer %.200q", i, got, said, n.code, n.said,
				all[i].out, all[i].ans)
			return
		}
		row.agrees++
	}

	for chunk := range slices.Chunk(judged, triplesAtOnce) {
		res := a.MustRun(t, tripleRun(check, all, chunk))
		for n, one := range res.Tests {
			got := string(one.Answer)
			if one.Answer == api.Partial {
				got = fmt.Sprintf("%s %g", one.Answer, score(one))
			}
			agree(chunk[n], got, one.Message)
		}
	}

	for _, i := range failing {
		_, err := a.Client.Run(t.Context(), tripleRun(check, all, []int{i}))
		got := "no error"
		var e *api.Error
		if errors.As(err, &e) {
			got = string(e.Code)
		}
		agree(i, got, "")
	}

	return row
}

// plain is a text as JSON can have it, up to a length that every message has.
func plain(s string) string {
	s = strings.TrimSpace(strings.ToValidUTF8(s, "\uFFFD"))
	return s[:min(len(s), 1000)]
}

// tripleRun is a run with a test for each of some triples: the program prints its output.
func tripleRun(check *api.Check, all []triple, some []int) api.Run {
	r := harness.Sh(`cat "$0"`)
	r.Check = check
	for _, i := range some {
		name := fmt.Sprint("out", i)
		r.Files = append(r.Files, api.File{Name: name, Content: api.Bytes(all[i].out)})
		r.Tests = append(r.Tests, api.Test{ID: fmt.Sprint(i), Args: []string{name}, Stdin: api.Bytes(all[i].in),
			Expected: harness.Expected(all[i].ans)})
	}
	return r
}

// runNative executes a checker as its author would.
func runNative(t *testing.T, work string, one triple) native {
	for name, text := range map[string]string{"in": one.in, "out": one.out, "ans": one.ans} {
		if err := os.WriteFile(filepath.Join(work, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}

	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()

	var said bytes.Buffer
	c := exec.CommandContext(ctx, "./checker", "in", "out", "ans")
	c.Dir, c.Stderr = work, &said
	err := c.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return native{c.ProcessState.ExitCode(), said.String()}
}
