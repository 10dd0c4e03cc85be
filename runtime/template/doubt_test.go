package template

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/brig-sandbox/brig/api"
)

// TPL-06. A run whose own settings let no program begin takes the snapshot from no other run: only a
// trial that fails does. However often this happens, the trial is rare.
func TestOnlyAFailedTrialRejectsASnapshot(t *testing.T) {
	for name, tt := range map[string]struct {
		trial error
		kept  bool
	}{
		"the trial begins":  {nil, true},
		"it does not":       {errors.New("it does not print ready"), false},
		"there was no slot": {api.Fail(api.CodeBusy, "all slots are busy"), true},
	} {
		s := newStore(t, Config{Max: api.MiB})
		build, _ := building(t, 100)
		n := get(t, s, "k", build)
		var trials atomic.Int64
		for range 3 {
			s.Doubt("k", n, "tiny limits", "it does not begin", func(context.Context, *Making) error {
				trials.Add(1)
				return tt.trial
			})
		}

		if why := n.Refusal(func() string { return "tiny limits" }); why != "it does not begin" {
			t.Errorf("%s: a run with the same settings: %q", name, why)
		}

		s.makings.Wait()
		if why := n.Refusal(func() string { return "others" }); (why == "") != tt.kept {
			t.Errorf("%s: a run with other settings: %q", name, why)
		}

		n.Release()
		again, err := s.Get(t.Context(), "k", build)
		if kept := err == nil && again == n; kept != tt.kept || trials.Load() != 1 {
			t.Errorf("%s: kept: %v, %v, after %d trials", name, kept, err, trials.Load())
		}
		if kept, st := tt.kept, s.Stats(); kept != (st.Kept == 1 && st.Failed == 0) || !kept && (st.Size != 0 || st.Why == "") {
			t.Errorf("%s: %+v", name, st)
		}
		if err == nil {
			again.Release()
		}
	}
}

// What is remembered of refused settings is bounded.
func TestRefusedSettingsAreBounded(t *testing.T) {
	s := newStore(t, Config{Max: api.MiB})
	build, _ := building(t, 100)
	n := get(t, s, "k", build)
	defer n.Release()
	for i := range 3 * maxRefused {
		s.Doubt("k", n, string(rune(i)), "no", func(context.Context, *Making) error { return nil })
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(n.refused) > maxRefused || n.refused[string(rune(3*maxRefused-1))] == "" {
		t.Errorf("%d are remembered", len(n.refused))
	}
}
