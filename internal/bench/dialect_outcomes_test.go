package main

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/api"
)

// The host becomes slower by ten times what the dialect adds. The difference of the medians shows that, the median of the
// differences does not.
func TestWhatIsAddedIsFreeOfWhatTheHostDoes(t *testing.T) {
	took := []pairTook{}
	for i := range 101 {
		own := time.Duration(i) * 10 * time.Millisecond
		took = append(took, pairTook{own, own + time.Millisecond})
	}
	took[50].foreign += time.Hour

	got := whatIsAdded(took)
	if got.own != 500 || got.more != 1 || got.foreign < 501 || got.foreign > 511 {
		t.Errorf("%+v", got)
	}
}

func TestSameProgram(t *testing.T) {
	own := api.Record{Language: "python", Image: "sha256:a"}
	foreign := api.Record{Language: "python", Image: "sha256:a", Dialect: "judge0"}
	language, image := foreign, foreign
	language.Language, image.Image = "python-full", "sha256:b"
	for _, tt := range []struct {
		name string
		all  []api.Record
		want string // empty: no error
	}{
		{"the same", []api.Record{foreign, own, own, foreign}, ""},
		{"another language", []api.Record{own, foreign, language}, `"judge0" runs "python-full"`},
		{"another image", []api.Record{own, image}, "not comparable"},
		{"no run of the dialect", []api.Record{own, own}, "all of one kind"},
		{"no run of brig's API", []api.Record{foreign}, "all of one kind"},
		{"none", nil, "all of one kind"},
	} {
		err := sameProgram(tt.all)
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
		}
	}
}

// Each call is counted once, and the first error of a client is kept.
func TestCallsOfManyClients(t *testing.T) {
	first, later, other := errors.New("the first"), errors.New("a later one"), errors.New("of another")
	told := make([]callerTook, 3)
	told[0].add(3*time.Millisecond, nil)
	told[0].add(time.Hour, first)
	told[0].add(time.Hour, later)
	told[1].add(time.Millisecond, nil)
	told[1].add(2*time.Millisecond, nil)
	told[2].add(0, other)

	got := together(told)
	if got.lost != 3 || len(got.took) != 3 || got.quantile(0) != 1 || got.quantile(.5) != 2 || got.quantile(.99) != 3 ||
		got.quantile(1) != 3 {
		t.Errorf("%+v", got)
	}
	if !errors.Is(got.first, first) || errors.Is(got.first, later) || !errors.Is(got.first, other) {
		t.Errorf("%v", got.first)
	}
	if got := together(make([]callerTook, 2)); got.first != nil || got.lost != 0 {
		t.Errorf("%+v", got)
	}
}

// Each request names the same kind of Python as the run that it is compared with: Judge0's clients ask for the plain one.
func TestSpokenNamesThePythonOfItsDialect(t *testing.T) {
	for _, tt := range []struct {
		fullStored bool
		want       map[string]string
	}{
		{false, map[string]string{"piston": "python", "judge0": "python", "jobe": "python", "sandboxfusion": "python",
			"go-judge": "", "mcp": "python"}},
		{true, map[string]string{"piston": "python-full", "judge0": "python", "jobe": "python-full", "sandboxfusion": "python-full",
			"go-judge": "", "mcp": "python"}},
	} {
		for _, one := range spokenOf(tt.fullStored) {
			if want, is := tt.want[one.name]; !is || one.same.Language != want {
				t.Errorf("%s with python-full stored %v: %q, want %q", one.name, tt.fullStored, one.same.Language, want)
			}
		}
	}
}
