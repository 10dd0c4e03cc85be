//go:build tiers

package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/testenv"
	"github.com/brig-sandbox/brig/seccomp"
)

// A witness is a run that needs calls of its tier: it fails in a way that can be seen
// where one is missing.
type witness struct {
	name  string
	run   api.Run
	holds func(testing.TB, api.Result)
}

// TestTiers takes each call away from each tier and looks for a program that fails then,
// first among those that the page names already. It writes docs/tiers.md.
func TestTiers(t *testing.T) {
	a := startAgent(t, "--slots", "2", "--max-wall", "10m", "--max-cpu", "10m")
	known := tiersKnown(t)
	var page strings.Builder
	page.WriteString(tiersHead)
	for _, tier := range seccomp.Tiers() {
		all := witnesses(t, a, tier)
		var hold []witness
		for _, w := range all {
			if how := a.broken(w, tier, ""); how != "" {
				t.Errorf("%s does not hold under %s: %s", w.name, tier, how)
			} else {
				hold = append(hold, w)
			}
		}
		p, err := seccomp.Tier(tier)
		if err != nil {
			t.Fatal(err)
		}
		calls := p.Allows()
		found := make([]string, len(calls))
		var wg sync.WaitGroup
		slots := make(chan struct{}, 2)
		for i, call := range calls {
			wg.Go(func() {
				slots <- struct{}{}
				defer func() { <-slots }()
				found[i] = a.witnessOf(tier, call, known[tier+" "+call], hold)
			})
		}
		wg.Wait()
		fmt.Fprintf(&page, "\n## %s\n\n%d calls: %s.\n\n| without | this fails |\n|---|---|\n", tier, len(calls), seccomp.About(tier))
		for i, call := range calls {
			if found[i] == "" {
				t.Errorf("%s allows %s, which no program needs: take it out, or add one to e2e/testdata/tiers", tier, call)
				continue
			}
			fmt.Fprintf(&page, "| %s | %s |\n", call, found[i])
		}
	}
	if err := os.WriteFile(tiersPage, []byte(page.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}

// witnessOf finds the first program that fails without a call.
func (a *agent) witnessOf(tier, call, first string, all []witness) string {
	all = slices.Clone(all)
	slices.SortStableFunc(all, func(x, y witness) int { // the one that did so last time, then those for the call
		rank := func(w witness) int {
			switch w.name {
			case first:
				return 0
			case "needs " + call:
				return 2
			}
			return 1
		}
		return rank(x) - rank(y)
	})
	for _, w := range all {
		if strings.HasPrefix(w.name, "needs ") && w.name != "needs "+call {
			continue
		}
		if a.broken(w, tier, call) != "" {
			return w.name
		}
	}
	return ""
}

// broken runs a witness under a tier without a call and says what is wrong with it.
func (a *agent) broken(w witness, tier, without string) string {
	p, err := seccomp.TierWithout(tier, without)
	if err != nil {
		return err.Error()
	}
	if w.run.ProfileRules, err = json.Marshal(p); err != nil {
		return err.Error()
	}
	res, err := a.Run(a.t.Context(), w.run)
	if err != nil {
		return err.Error()
	}
	seen := &failures{TB: a.t}
	w.holds(seen, res)
	return strings.Join(seen.said, "; ")
}

// failures keeps what a check would have failed for.
type failures struct {
	testing.TB
	said []string
}

func (f *failures) Helper() {}
func (f *failures) Errorf(format string, a ...any) {
	f.said = append(f.said, fmt.Sprintf(format, a...))
}

// tellingCases are the cases of languages that use much, those that use most first.
var tellingCases = []string{"library", "child", "thread", "several", "exception", "add"}

// witnesses are those of a tier: the languages' programs, then one program for each call.
// $BRIG_TIERS_LANGUAGES names the languages, where not all images are to be built.
func witnesses(t *testing.T, a *agent, tier string) []witness {
	t.Helper()
	var list []witness
	some := strings.Fields(os.Getenv("BRIG_TIERS_LANGUAGES"))
	for _, l := range builtinLanguages(t) {
		if l.Tier != tier || len(some) > 0 && !slices.Contains(some, l.Name) {
			continue
		}
		images.load(t, a, l.Image)
		for _, c := range languageCases {
			run, ok := languageRun(t, l, c.name)
			if !ok || !slices.Contains(tellingCases, c.name) || c.name == "child" && tier == "strict" {
				continue
			}
			if c.change != nil {
				c.change(&run)
			}
			list = append(list, witness{l.Name + " " + c.name, run, func(t testing.TB, res api.Result) { c.check(t, l, res) }})
		}
	}
	slices.SortStableFunc(list, func(x, y witness) int { return caseRank(x.name) - caseRank(y.name) })
	needs := compileNeeds(t)
	p, err := seccomp.Tier(tier)
	if err != nil {
		t.Fatal(err)
	}
	for _, call := range p.Allows() {
		r := program(needs, call)
		r.Limits, r.Collect.None = api.Limits{CPU: seconds(1), Wall: seconds(20), Memory: 64 * api.MiB}, true
		list = append(list, witness{"needs " + call, r, func(t testing.TB, res api.Result) { wantVerdict(t, res, api.OK) }})
	}
	return list
}

func caseRank(name string) int {
	_, c, _ := strings.Cut(name, " ")
	return slices.Index(tellingCases, c)
}

// compileNeeds builds the programs of testdata/tiers into one.
func compileNeeds(t testing.TB) api.File {
	t.Helper()
	sources, err := filepath.Glob("testdata/tiers/*.c")
	if err != nil || len(sources) == 0 {
		t.Fatalf("no sources: %v", err)
	}
	bin := filepath.Join(t.TempDir(), "needs")
	args := slices.Concat([]string{"-static", "-O1", "-pthread", "-w", "-o", bin}, sources)
	if out, err := exec.Command(testenv.NeedTool(t, "gcc", "gcc"), args...).CombinedOutput(); err != nil {
		t.Fatalf("gcc: %v\n%s", err, out)
	}
	content, err := os.ReadFile(bin)
	if err != nil {
		t.Fatal(err)
	}
	return api.File{Name: "needs", Content: content, Executable: true}
}
