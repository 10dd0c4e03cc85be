package judging

import (
	"slices"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/cmd/brig/cli"
	"github.com/brig-sandbox/brig/judge/problem"
)

// A private agent allows what a package needs.
func TestPrivateAgentsAllowPackages(t *testing.T) {
	for _, tt := range []struct {
		limits problem.Limits
		asked  api.Limits
		want   []string
	}{
		{problem.Limits{}, api.Limits{}, nil},
		{problem.Limits{Time: 2e9, Memory: 256 * api.MiB}, api.Limits{}, nil},
		{problem.Limits{Time: 40e9, Memory: 6 * api.GiB}, api.Limits{}, []string{"--max-memory", "6G", "--max-wall", "40s", "--max-cpu", "40s"}},
		{problem.Limits{Time: 40e9}, api.Limits{CPU: api.Duration(time.Second)}, nil},
		{problem.Limits{}, api.Limits{OpenFiles: 8000, Swap: api.MiB, CPUs: 2, Cpuset: "0"},
			[]string{"--max-cpus", "2", "--max-open-files", "8000", "--max-swap", "1M"}},
	} {
		if got := cli.CeilingFlags(api.Run{Limits: maxOf(&problem.Problem{Limits: tt.limits}, tt.asked)}); !slices.Equal(got, tt.want) {
			t.Errorf("%+v, %+v: %q; want %q", tt.limits, tt.asked, got, tt.want)
		}
	}
}

func TestShortTimes(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0s", 404 * time.Microsecond: "<1ms", 600 * time.Microsecond: "1ms", 1500 * time.Microsecond: "2ms", 2 * time.Second: "2s",
	} {
		if got := short(api.Duration(d)); got != want {
			t.Errorf("%s: %s; want %s", d, got, want)
		}
	}
}
