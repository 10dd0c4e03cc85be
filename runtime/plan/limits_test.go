package plan

import (
	"errors"
	"maps"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/api"
)

func TestEffectiveLimits(t *testing.T) {
	sec := func(n int) api.Duration { return api.Duration(time.Duration(n) * time.Second) }
	for _, tt := range []struct {
		name     string
		run      api.Run
		language api.Limits
		ceiling  api.Limits
		want     func(api.Limits) bool
		code     api.Code
	}{
		{name: "nothing asked gives the defaults", want: func(l api.Limits) bool {
			return l.Wall == sec(30) && l.CPU == sec(30) && l.Memory == 512*api.MiB && l.Stack == l.Memory && l.Pids == 100
		}},
		{name: "cpu follows wall", run: api.Run{Limits: api.Limits{Wall: sec(2)}}, want: func(l api.Limits) bool { return l.CPU == sec(2) }},
		{name: "a preset beats the language", run: api.Run{Preset: "light"}, language: api.Limits{Memory: api.GiB},
			want: func(l api.Limits) bool {
				return l.Memory == 128*api.MiB && l.Wall == sec(5) && l.CPUs == 0.5 && l.Pids == 64
			}},
		{name: "a field beats the preset", run: api.Run{Preset: "light", Limits: api.Limits{Pids: 50}},
			want: func(l api.Limits) bool { return l.Pids == 50 && l.CPUs == 0.5 }},
		{name: "the language beats the defaults", language: api.Limits{Memory: api.GiB},
			want: func(l api.Limits) bool { return l.Memory == api.GiB }},
		{name: "a default above the ceiling is lowered", ceiling: api.Limits{Memory: 64 * api.MiB, CPU: sec(1)}, want: func(l api.Limits) bool {
			return l.Memory == 64*api.MiB && l.CPU == sec(1) && l.Wall == sec(30)
		}},
		{name: "no limit on what a process maps, without a ceiling", want: func(l api.Limits) bool {
			return l.AddressSpace == 0 && l.Data == 0 && l.FileSize == 0
		}},
		{name: "no limit is lowered to the ceiling", language: api.Limits{Data: api.GiB},
			ceiling: api.Limits{AddressSpace: 3 * api.GiB, Data: 2 * api.GiB, FileSize: api.MiB}, want: func(l api.Limits) bool {
				return l.AddressSpace == 3*api.GiB && l.Data == api.GiB && l.FileSize == api.MiB
			}},
		{name: "a file size above the ceiling is refused", run: api.Run{Limits: api.Limits{FileSize: 2 * api.MiB}},
			ceiling: api.Limits{FileSize: api.MiB}, code: api.CodeAboveCeiling},
		{name: "a wish above the ceiling is refused", run: api.Run{Limits: api.Limits{Memory: 65 * api.MiB}},
			ceiling: api.Limits{Memory: 64 * api.MiB}, code: api.CodeAboveCeiling},
		{name: "swap is none unless the ceiling allows it", run: api.Run{Limits: api.Limits{Swap: api.MiB}}, code: api.CodeAboveCeiling},
		{name: "an unknown preset is refused", run: api.Run{Preset: "hard"}, code: api.CodeBadLimits},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l, err := EffectiveLimits(tt.run.Limits, tt.run.Preset, tt.language, tt.ceiling)
			var refused *api.Error
			switch {
			case tt.code != "":
				if !errors.As(err, &refused) || refused.Code != tt.code {
					t.Errorf("error %v; want code %s", err, tt.code)
				}
			case err != nil:
				t.Error(err)
			case !tt.want(l):
				t.Errorf("limits %+v", l)
			}
		})
	}
}

// Every field of the result is one of valid limits, so that nobody needs to check the result again.
func TestEffectiveLimitsOfValidLimitsAreValid(t *testing.T) {
	least := api.Limits{Wall: api.Duration(time.Millisecond), CPU: api.Duration(time.Millisecond), Memory: api.MinMemory,
		Swap: 4096, CPUs: 0.01, Weight: 2, Cpuset: "0", Pids: 1, Output: 1, Scratch: 4096, Inodes: 16, OpenFiles: 3,
		Stack: 64 * api.KiB, AddressSpace: api.MinMemory, Data: api.MiB, FileSize: api.KiB}
	most := api.Limits{Wall: api.Duration(24 * time.Hour), CPU: api.Duration(24 * time.Hour), Memory: 1 << 40,
		Swap: 1 << 40, CPUs: 4096, Weight: 262144, Cpuset: "0-1023", Pids: 1 << 22, Output: 1 << 40, Scratch: 1 << 40,
		Inodes: 1 << 30, OpenFiles: 1 << 30, Stack: 1 << 40, AddressSpace: 1 << 40, Data: 1 << 40, FileSize: 1 << 40}
	given := []api.Limits{{}, least, api.Defaults(), api.DefaultCeiling(), most}

	random := rand.New(rand.NewPCG(1, 2))
	mixed := func() (l api.Limits) {
		for i := range reflect.TypeFor[api.Limits]().NumField() {
			from := given[random.IntN(len(given))]
			reflect.ValueOf(&l).Elem().Field(i).Set(reflect.ValueOf(from).Field(i))
		}
		if err := l.Validate(); err != nil {
			t.Fatal(err)
		}
		return l
	}

	accepted := 0
	for range 10_000 {
		language, ceiling := mixed(), mixed()
		wish, preset := mixed().CappedBy(ceiling), []string{"", "hardened", "light"}[random.IntN(3)]
		l, err := EffectiveLimits(wish, preset, language, ceiling)
		if api.HasCode(err, api.CodeAboveCeiling) { // the preset is
			continue
		}

		accepted++
		if err := errors.Join(err, l.Validate()); err != nil {
			t.Fatalf("%+v and preset %q, language %+v, ceiling %+v: %v", wish, preset, language, ceiling, err)
		}
	}

	if accepted < 3_000 {
		t.Errorf("only %d of 10,000 limits were accepted", accepted)
	}
}

func TestRlimits(t *testing.T) {
	base := api.Limits{OpenFiles: 7, Stack: 1 << 20, Scratch: 1 << 21, CPU: api.Duration(1500 * time.Millisecond)}
	for _, tt := range []struct {
		name   string
		own    api.Limits // over base
		volume api.Size
		want   map[string]uint64 // in addition to those that every run has
	}{
		{"none of its own", api.Limits{}, 0, map[string]uint64{"RLIMIT_FSIZE": 1 << 21}},
		{"a volume", api.Limits{}, 1 << 30, map[string]uint64{"RLIMIT_FSIZE": 1 << 30}},
		{"a small file", api.Limits{FileSize: 4096}, 1 << 30, map[string]uint64{"RLIMIT_FSIZE": 4096}},
		{"a file larger than scratch", api.Limits{FileSize: 1 << 22}, 0, map[string]uint64{"RLIMIT_FSIZE": 1 << 21}},
		{"address space", api.Limits{AddressSpace: 1 << 33}, 0, map[string]uint64{"RLIMIT_FSIZE": 1 << 21, "RLIMIT_AS": 1 << 33}},
		{"data", api.Limits{Data: 1 << 32}, 0, map[string]uint64{"RLIMIT_FSIZE": 1 << 21, "RLIMIT_DATA": 1 << 32}},
	} {
		tt.want["RLIMIT_NOFILE"], tt.want["RLIMIT_STACK"], tt.want["RLIMIT_CPU"] = 7, 1<<20, 5
		got := map[string]uint64{}
		for _, r := range RLimits(tt.own.Over(base), 0, tt.volume) {
			got[r.Name] = r.Value
		}
		if !maps.Equal(got, tt.want) {
			t.Errorf("%s: %v; want %v", tt.name, got, tt.want)
		}
	}
}

// Whose limit a file met that was too large.
func TestMaxFile(t *testing.T) {
	for _, tt := range []struct {
		limits api.Limits
		volume api.Size
		size   api.Size
		own    bool
	}{
		{api.Limits{Scratch: 100}, 0, 100, false},
		{api.Limits{Scratch: 100, FileSize: 99}, 0, 99, true},
		{api.Limits{Scratch: 100, FileSize: 100}, 0, 100, true},
		{api.Limits{Scratch: 100, FileSize: 101}, 0, 100, false},
		{api.Limits{Scratch: 100, FileSize: 101}, 200, 101, true},
	} {
		if size, own := MaxFile(tt.limits, tt.volume); size != tt.size || own != tt.own {
			t.Errorf("%+v and a volume of %d: %d, %v", tt.limits, tt.volume, size, own)
		}
	}
}
