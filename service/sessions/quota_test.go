package sessions

import (
	"math/rand/v2"
	"testing"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/auth"
	"github.com/brig-sandbox/brig/service/core"
)

func TestSessionQuota(t *testing.T) {
	const M, G = api.MiB, api.GiB
	one, maximum := sessionUsage{1, 512 * M}, sessionUsage{16, 12 * G}
	for name, tt := range map[string]struct {
		key      auth.Key
		own, all sessionUsage
		more     sessionUsage
		alone    bool
		few      bool // the host allows only one session and 700 MiB
		want     api.Code
	}{
		"the first of all":                            {more: one},
		"the first, and little is left":               {all: sessionUsage{15, 11 * G}, more: one},
		"the first, of ordinary size on a small host": {more: sessionUsage{1, 576 * M}, few: true},
		"the first, larger than half of the memory":   {more: sessionUsage{1, 6*G + M}, want: api.CodeAboveCeiling},
		"the first, larger than half of what is left": {all: sessionUsage{2, 8 * G}, more: sessionUsage{1, 3 * G}, want: api.CodeSessionsFull},
		"the first and nobody else may come":          {more: sessionUsage{1, 6*G + M}, alone: true},
		"the first, within a bound of its own":        {key: auth.Key{Memory: 8 * G}, more: sessionUsage{1, 6*G + M}},
		"a half of the sessions":                      {own: sessionUsage{7, 7 * M}, all: sessionUsage{7, 7 * M}, more: sessionUsage{1, M}},
		"more than half of them": {own: sessionUsage{8, 8 * M}, all: sessionUsage{8, 8 * M}, more: sessionUsage{1, M},
			want: api.CodeSessionsFull},
		"a half of the memory": {own: sessionUsage{1, 5 * G}, all: sessionUsage{1, 5 * G}, more: sessionUsage{1, G}},
		"more than half of it": {own: sessionUsage{1, 6 * G}, all: sessionUsage{1, 6 * G}, more: one,
			want: api.CodeSessionsFull},
		"as much as is left next to another": {own: sessionUsage{1, 3 * G}, all: sessionUsage{9, 7 * G}, more: sessionUsage{1, G}},
		"more than is left next to another": {own: sessionUsage{1, 4 * G}, all: sessionUsage{9, 8 * G}, more: one,
			want: api.CodeSessionsFull},
		"nobody else may come": {own: sessionUsage{12, 11 * G}, all: sessionUsage{12, 11 * G}, more: one, alone: true},
		"sessions of its own bound": {key: auth.Key{Sessions: 12}, own: sessionUsage{11, 11 * M}, all: sessionUsage{11, 11 * M},
			more: sessionUsage{1, M}},
		"more than that": {key: auth.Key{Sessions: 12}, own: sessionUsage{12, 12 * M}, all: sessionUsage{12, 12 * M},
			more: sessionUsage{1, M}, want: api.CodeSessionsFull},
		"more than that, alone": {key: auth.Key{Sessions: 2}, own: sessionUsage{2, 2 * M}, all: sessionUsage{2, 2 * M},
			more: sessionUsage{1, M}, alone: true, want: api.CodeSessionsFull},
		"memory of its own bound": {key: auth.Key{Memory: 10 * G}, own: sessionUsage{1, 9 * G}, all: sessionUsage{1, 9 * G},
			more: sessionUsage{1, G}},
		"more memory than that": {key: auth.Key{Memory: G}, own: sessionUsage{2, G}, all: sessionUsage{2, G},
			more: sessionUsage{1, M}, alone: true, want: api.CodeSessionsFull},
		"one that alone is more than that": {key: auth.Key{Memory: 256 * M}, more: one, want: api.CodeAboveCeiling},
		"a bound of sessions is none of the other": {key: auth.Key{Sessions: 12}, own: sessionUsage{1, 6 * G}, all: sessionUsage{1, 6 * G},
			more: one, want: api.CodeSessionsFull},
	} {
		maximum := maximum
		if tt.few {
			maximum = sessionUsage{1, 700 * M}
		}

		err := checkSessionQuota(core.Caller{Key: tt.key}, tt.own, tt.all, tt.more, maximum, !tt.alone)
		var told *api.Problem
		if err != nil {
			told, _ = core.ProblemFor(err)
		}
		if tt.want == "" && err != nil || tt.want != "" && (told == nil || told.Code != tt.want) {
			t.Errorf("%s: %v; want %q", name, err, tt.want)
		}

		err = checkSessionQuota(core.Caller{Key: tt.key}, tt.own, tt.all, tt.more, sessionUsage{}, !tt.alone)
		if err != nil && tt.key == (auth.Key{}) {
			t.Errorf("%s, where the agent has not been heard: %v", name, err)
		}
	}
}

// Whatever keys create and end, in any order: a key that has nothing can create a session of
// ordinary size, and a key that is alone can have a third of everything.
func TestAKeyWithoutSessionsCanCreateOne(t *testing.T) {
	maximum := sessionUsage{32, 64 * api.GiB}
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 1))
		hogs := 1 + r.IntN(4)
		had := make([][]sessionUsage, hogs)
		var all sessionUsage
		sum := func(list []sessionUsage) (s sessionUsage) {
			for _, h := range list {
				s = s.plus(h)
			}
			return s
		}

		for range 300 {
			k := r.IntN(hogs)
			if more := (sessionUsage{1, api.Size(1+r.IntN(2048)) * api.MiB}); r.IntN(4) > 0 &&
				checkSessionQuota(core.Caller{}, sum(had[k]), all, more, maximum, true) == nil {
				had[k], all = append(had[k], more), all.plus(more)
			} else if n := len(had[k]); n > 0 && r.IntN(3) == 0 {
				all = sessionUsage{all.sessions - 1, all.memory - had[k][n-1].memory}
				had[k] = had[k][:n-1]
			}
			left := sessionUsage{maximum.sessions - all.sessions, maximum.memory - all.memory}
			if left.sessions < maximum.sessions/(hogs+1)-hogs || left.memory < maximum.memory/api.Size(hogs+1)-api.Size(hogs)*2*api.GiB {
				t.Fatalf("seed %d: %d keys have left %+v of %+v", seed, hogs, left, maximum)
			}
		}
	}
}

func TestVolumeQuota(t *testing.T) {
	const M = api.MiB
	for name, tt := range map[string]struct {
		key            auth.Key
		own, all, more api.Size
		maximum        api.Size
		others         bool
		want           bool
	}{
		"the first":                 {all: 900 * M, more: 100 * M, maximum: 1000 * M, others: true, want: true},
		"a half":                    {own: 400 * M, all: 400 * M, more: 100 * M, maximum: 1000 * M, others: true, want: true},
		"more than a half":          {own: 400 * M, all: 400 * M, more: 101 * M, maximum: 1000 * M, others: true},
		"a first of more than half": {more: 501 * M, maximum: 1000 * M, others: true},
		"one of the usual size":     {more: api.VolumeSize, maximum: 300 * M, others: true, want: true},
		"more than a half, alone":   {own: 400 * M, all: 400 * M, more: 101 * M, maximum: 1000 * M, want: true},
		"an agent that says none":   {own: 400 * M, all: 400 * M, more: 101 * M, others: true, want: true},
		"within a bound of its own": {key: auth.Key{Volumes: 900 * M}, own: 400 * M, all: 400 * M, more: 500 * M, maximum: 1000 * M,
			others: true, want: true},
		"beyond it": {key: auth.Key{Volumes: 100 * M}, more: 101 * M, maximum: 1000 * M},
	} {
		if err := checkVolumeQuota(core.Caller{Key: tt.key}, tt.own, tt.all, tt.more, tt.maximum, tt.others); (err == nil) != tt.want {
			t.Errorf("%s: %v", name, err)
		}
	}
}
