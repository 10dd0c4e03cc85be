//go:build ablate

package isolation

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/corpus"
	"github.com/brig-sandbox/brig/internal/e2e/harness"
)

// A recorder records the messages with which a check would have failed.
type recorder struct {
	testing.TB
	said []string
}

func (r *recorder) Helper()                   {}
func (r *recorder) Errorf(f string, a ...any) { r.said = append(r.said, fmt.Sprintf(f, a...)) }

// ablations asks brigd which layers it can leave out: it lists them when it refuses an unknown one.
func ablations(t *testing.T) []string {
	cmd := exec.CommandContext(t.Context(), harness.Binary(t, "brigd"))
	cmd.Env = append(os.Environ(), "BRIG_WITHOUT=?")
	out, err := cmd.CombinedOutput()
	_, list, ok := strings.Cut(string(out), "the layers are ")
	if err == nil || !ok {
		t.Fatalf("brigd names no layers: %v, %s", err, out)
	}
	return strings.Split(strings.TrimSpace(list), ", ")
}

// A finding is the outcome of a case with one layer left out.
type finding struct{ outcome, how string }

const (
	held      = "held"
	otherwise = "otherwise" // stopped, with a different answer than the documented one
	leaked    = "leaked"
	broken    = "broken" // brig itself failed: says nothing about the other layers
)

// judge distinguishes a reached goal from a refusal that only looks different.
func judge(e harness.Expectation, list []corpus.Attempt, res api.Result, checks, canary []string) finding {
	if len(canary) > 0 {
		return finding{leaked, canary[0]}
	}
	if len(checks) == 0 {
		return finding{held, ""}
	}

	var other, through []string
	for _, a := range list {
		want, ok := e.Wanted(a.Call)
		if !ok && e.Errno == nil || slices.Contains(want, a.Errno) {
			continue
		}
		if a.Errno == "0" {
			through = append(through, a.Call)
			continue
		}
		other = append(other, a.Call+": "+a.Errno)
	}

	switch {
	case len(through) > 0:
		return finding{leaked, strings.Join(through, ", ") + " succeed"}
	case len(other) > 0:
		return finding{otherwise, other[0]}
	case !slices.Contains(e.Verdicts, res.Verdict) && res.Verdict != api.OK:
		return finding{otherwise, "verdict " + string(res.Verdict)}
	}

	return finding{leaked, checks[0]}
}

// TestLayers runs every case with each layer left out, one layer at a time. It fails only if the
// corpus does not hold with nothing left out. The lines that begin with "layers|" are
// docs/reports/layers.md.
func TestLayers(t *testing.T) {
	part, parts := 1, 1
	if p := os.Getenv("BRIG_LAYERS"); p != "" {
		if _, err := fmt.Sscanf(p, "%d/%d", &part, &parts); err != nil {
			t.Fatalf("BRIG_LAYERS=%s: %v; want PART/PARTS", p, err)
		}
	}

	for i, layer := range append([]string{""}, ablations(t)...) {
		if i > 0 && i%parts != part-1 { // each part runs the corpus with nothing left out
			continue
		}

		t.Run("without "+layer, func(t *testing.T) {
			defer func() {
				if t.Failed() {
					fmt.Printf("layers|%s|*|broken|\n", layer)
				}
			}()

			t.Setenv("BRIG_WITHOUT", layer)
			c := harness.NewCanaries(t)
			t.Setenv(corpus.EnvName, corpus.EnvSecret)
			a := harness.StartAgent(t, "--slots", "1")
			for _, e := range harness.Expectations(t) {
				id, got := e.ID, oneCase(t, a, c, e)
				fmt.Printf("layers|%s|%s|%s|%s\n", layer, id, got.outcome, tableCell(got.how))
			}
		})
	}
}

func oneCase(t *testing.T, a *harness.Agent, c harness.Canaries, e harness.Expectation) finding {
	r := e.Run(c.Canaries)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	res, err := a.Run(ctx, r)
	if err != nil {
		return finding{broken, "brig: " + err.Error()}
	}
	checks, canary := &recorder{TB: t}, &recorder{TB: t}
	e.CheckResult(checks, c, res)
	c.Untouched(canary)
	return judge(e, harness.Attempts(t, bytes.Clone(res.Stdout)), res, checks.said, canary.said)
}

// tableCell makes a message fit into one table cell.
func tableCell(s string) string {
	s = strings.Join(strings.Fields(strings.Map(func(r rune) rune {
		if r == '|' || r < ' ' || r > '~' {
			return ' '
		}
		return r
	}, s)), " ")
	return s[:min(len(s), 300)]
}
