package api_test

import (
	"testing"

	"github.com/brig-sandbox/brig/api"
)

func TestExit(t *testing.T) { // the table of docs/operate/codes.md
	for _, tt := range []struct {
		r    api.Result
		want int
	}{
		{api.Result{Verdict: api.OK}, 0},
		{api.Result{Verdict: api.Nonzero, ExitCode: 3}, 3},
		{api.Result{Verdict: api.CompileError, ExitCode: -1, Signal: 9}, 1},
		{api.Result{Verdict: api.WallLimit, ExitCode: -1, Signal: 9}, 124},
		{api.Result{Verdict: api.CPULimit, ExitCode: -1, Signal: 9}, 124},
		{api.Result{Verdict: api.Signaled, ExitCode: -1, Signal: 11}, 139},
		{api.Result{Verdict: api.Canceled, ExitCode: -1, Signal: 9}, 130},
		{api.Result{Verdict: api.MemoryLimit, ExitCode: 1}, 137},
		{api.Result{Verdict: api.OutputLimit, ExitCode: -1, Signal: 9}, 153},
		{api.Result{Verdict: api.Denied, ExitCode: -1, Signal: 9}, 159},
	} {
		if got := tt.r.Exit(); got != tt.want {
			t.Errorf("%s: %d; want %d", tt.r.Verdict, got, tt.want)
		}
	}
}
