//go:build tiers

package languages

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/docblock"
	"github.com/brig-sandbox/brig/internal/e2e/harness"
	"github.com/brig-sandbox/brig/seccomp"
)

// A witness is an ordinary program that needs calls of its tier: if one is missing, it fails
// visibly.
type witness struct {
	name  string
	run   api.Run
	holds func(testing.TB, api.Result)

	patience float64 // seconds it may take: some hang without what they need
}

const noVDSO = "every program on a host that was started with vdso=0, or whose clock the vDSO cannot read"

// neededBeyondPrograms are grants whose need no program can show, with what needs them.
var neededBeyondPrograms = map[string]string{
	"strict restart_syscall": "a run that a tracer or a freezer stops and continues: the kernel makes this call",
	"strict gettimeofday":    noVDSO,
	"strict time":            noVDSO,
	"strict getcpu":          noVDSO,
	"default gettimeofday":   noVDSO,
	"default time":           noVDSO,
	"default getcpu":         noVDSO,
}

// tierSection returns the heading of a tier's section of the page.
func tierSection(tier string) string {
	p, err := seccomp.Tier(tier)
	if err != nil {
		panic("BUG: Tiers names it: " + err.Error())
	}
	suffix := ""
	if lower := tierBelow[tier]; lower != "" {
		suffix = fmt.Sprintf(" In addition to `%s`:", lower)
	}
	about := fmt.Sprintf("%d calls: %s.%s", len(p.Allows()), seccomp.About(tier), suffix)
	return fmt.Sprintf("\n## %s\n\n%s\n\n| without | this fails |\n|---|---|\n", tier, docblock.Wrap(about))
}

// TestTiers removes each call and each argument from each tier and looks for a program that then
// fails, first the one that the page already names. It writes docs/reports/tiers.md.
func TestTiers(t *testing.T) {
	a := harness.StartAgent(t, "--slots", "2", "--max-wall", "10m", "--max-cpu", "10m")
	known := tiersKnown(t)
	var page strings.Builder
	page.WriteString(tiersHead)
	asked := strings.Fields(os.Getenv("BRIG_TIERS_ONLY"))
	for _, tier := range seccomp.Tiers() {
		if len(asked) > 0 && !slices.Contains(asked, tier) { // unchanged from the page
			page.WriteString(tierSection(tier))
			for _, g := range tierGrants(t, tier) {
				if name := known[tier+" "+g.String()]; name != "" {
					fmt.Fprintf(&page, "| %s | %s |\n", g, name)
				}
			}
			continue
		}

		s := &search{Agent: a, t: t, tier: tier, found: map[string]string{}, slots: make(chan struct{}, 2)}
		var hold []witness
		for _, w := range witnesses(t, a, tier) {
			if how := s.failureWithout(w); how != "" {
				t.Errorf("%s does not hold under %s: %s", w.name, tier, how)
			} else {
				hold = append(hold, w)
			}
		}

		grants := tierGrants(t, tier)
		s.recheck(grants, known, hold)
		for _, w := range hold {
			s.neededBy(w, s.unproven(grants))
		}

		page.WriteString(tierSection(tier))
		for _, g := range grants {
			if s.found[g.String()] == "" {
				t.Errorf("%s allows %s, which no program needs: take it out, or add an ordinary program that needs "+
					"it to testdata/languages", tier, g)
				continue
			}
			fmt.Fprintf(&page, "| %s | %s |\n", g, s.found[g.String()])
		}
	}

	if err := os.WriteFile(tiersPage, []byte(page.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}

// A search finds which programs need the grants of one tier.
type search struct {
	*harness.Agent
	t     *testing.T
	tier  string
	slots chan struct{} // the agent's

	mu    sync.Mutex
	found map[string]string // grant: the program that needs it
}

func (s *search) note(g seccomp.Grant, name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.found[g.String()] = name
}

// unproven returns the grants whose need no program has shown yet.
func (s *search) unproven(all []seccomp.Grant) []seccomp.Grant {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(all), func(g seccomp.Grant) bool { return s.found[g.String()] != "" })
}

// recheck checks whether the programs that the page names still need their grants.
func (s *search) recheck(grants []seccomp.Grant, known map[string]string, all []witness) {
	var wg sync.WaitGroup
	for _, g := range grants {
		if why := neededBeyondPrograms[s.tier+" "+g.String()]; why != "" {
			s.note(g, why)
			continue
		}

		name := known[s.tier+" "+g.String()]
		if language, _, _ := strings.Cut(name, " "); len(askedLanguages()) > 0 && !slices.Contains(askedLanguages(), language) && name != "" {
			s.note(g, name) // unchanged from the page: its language is not selected
			continue
		}

		i := slices.IndexFunc(all, func(w witness) bool { return w.name == name })
		if i < 0 {
			continue
		}

		wg.Go(func() {
			if s.failureWithout(all[i], g) != "" {
				s.note(g, all[i].name)
			}
		})
	}

	wg.Wait()
}

// neededBy finds which of the grants a program needs. A program that works without all of them
// needs none; otherwise each half is checked.
func (s *search) neededBy(w witness, grants []seccomp.Grant) {
	if len(grants) == 0 || s.failureWithout(w, grants...) == "" {
		return
	}
	if len(grants) == 1 {
		if s.failureWithout(w, grants...) != "" { // it did not fail by chance
			s.note(grants[0], w.name)
		}
		return
	}

	var wg sync.WaitGroup
	for _, half := range [][]seccomp.Grant{grants[:len(grants)/2], grants[len(grants)/2:]} {
		wg.Go(func() { s.neededBy(w, half) })
	}

	wg.Wait()
}

// failureWithout runs a program under the tier without some grants and returns what is wrong with it.
func (s *search) failureWithout(w witness, without ...seccomp.Grant) string {
	s.slots <- struct{}{}
	defer func() { <-s.slots }()

	p, err := seccomp.TierWithout(s.tier, without...)
	if err == nil {
		w.run.ProfileRules, err = json.Marshal(p)
	}
	if err != nil {
		s.t.Errorf("%s: %v", w.name, err)
		return ""
	}

	w.run.Profile = ""
	w.run.Limits.CPU, w.run.Limits.Wall = harness.Slowly(w.patience), harness.Slowly(w.patience)

	// This is not the harness's Run: a profile without execve is refused, as it must be.
	res, err := s.Client.Run(s.t.Context(), w.run)
	var refusal *api.Error
	if errors.As(err, &refusal) && (refusal.Code == api.CodeBadProfile || refusal.Code == api.CodeBadRequest) {
		return refusal.Message // no program starts under it, or none with a network
	}
	if err != nil {
		s.t.Errorf("%s under %s without %v: %v", w.name, s.tier, without, err)
		return ""
	}

	seen := &failures{TB: s.t}
	w.holds(seen, res)
	return strings.Join(seen.said, "; ")
}

// failures records the messages with which a check would have failed.
type failures struct {
	testing.TB
	said []string
}

func (f *failures) Helper() {}
func (f *failures) Errorf(format string, a ...any) {
	f.said = append(f.said, fmt.Sprintf(format, a...))
}
