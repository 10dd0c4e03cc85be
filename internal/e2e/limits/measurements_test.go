package limits

import (
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/e2e/harness"
)

// Every measurement is near what the program is known to use and says where it was read. What
// cannot be measured is null and says why.
func TestMeasurementsAreNearTheTruth(t *testing.T) {
	a := harness.StartAgent(t, "--slots", "1")
	burn := harness.CompileC(t, "burn", `#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/times.h>
#include <unistd.h>
int main(int c, char **v) {
  struct tms t; long hz = sysconf(_SC_CLK_TCK), user = atol(v[1]), sys = atol(v[2]); struct stat st; volatile long x = 0;
  do { for (int i = 0; i < 100000; i++) x += i; times(&t); } while (t.tms_utime * 1000 / hz < user);
  do { for (int i = 0; i < 2000; i++) stat("/nowhere", &st); times(&t); } while (t.tms_stime * 1000 / hz < sys);
  return 0; }`)

	family := harness.CompileC(t, "family", `#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
int main(void) { // each child has its memory until all have theirs
  int has[2], go[2], n = 0; char c;
  if (pipe(has) || pipe(go)) return 9;
  for (int i = 0; i < 6; i++) switch (fork()) {
    case 0: close(go[1]); char *p = malloc(20 << 20); memset(p, 1, 20 << 20); write(has[1], "x", 1); read(go[0], &c, 1);
      _exit(p[5] != 1);
    case -1: break;
    default: n++;
  }
  while (n-- > 0) read(has[0], &c, 1);
  close(go[1]);
  while (wait(0) > 0);
  return 0; }`)

	between := func(t *testing.T, name string, f api.Measurement, low, high int64) {
		t.Helper()
		switch {
		case f.Source == "":
			t.Errorf("%s has no source: %+v", name, f)
		case f.Value == nil:
			t.Errorf("%s is unknown: %s", name, f.Source)
		case *f.Value < low || *f.Value > high:
			t.Errorf("%s is %d; want %d to %d", name, *f.Value, low, high)
		}
	}

	const ms = int64(time.Millisecond)
	t.Run("user time", func(t *testing.T) {
		u := a.MustRun(t, harness.Program(burn, "300", "0")).Usage
		between(t, "cpu", u.CPU, 250*ms, 450*ms)
		between(t, "user", u.User, 250*ms, 400*ms)
		between(t, "system", u.System, 0, 100*ms)
	})

	t.Run("system time", func(t *testing.T) {
		u := a.MustRun(t, harness.Program(burn, "0", "300")).Usage
		between(t, "system", u.System, 200*ms, 400*ms)
		if sum := *u.User.Value + *u.System.Value; sum > *u.CPU.Value*11/10+10*ms || sum < *u.CPU.Value*9/10-10*ms {
			t.Errorf("user and system make %d, cpu is %d", sum, *u.CPU.Value)
		}
	})

	t.Run("memory and processes of a family", func(t *testing.T) {
		u := a.MustRun(t, harness.Program(family)).Usage
		between(t, "memory", u.Memory, 120<<20, 128<<20)
		between(t, "max rss", u.MaxRSS, 20<<20, 24<<20)
		between(t, "oom kills", u.OOMKills, 0, 0)
		between(t, "forks refused", u.ForksRefused, 0, 0)
		if u.Pids.Value != nil {
			between(t, "pids", u.Pids, 7, 9)
		} else if u.Pids.Source == "" {
			t.Error("pids are unknown and nobody says why")
		}
	})

	t.Run("refused forks and oom kills are counted", func(t *testing.T) {
		r := harness.Program(family)
		r.Limits.Pids = 3
		between(t, "forks refused", a.MustRun(t, r).Usage.ForksRefused, 1, 10)
		r.Limits = api.Limits{Memory: 60 * api.MiB}
		res := a.MustRun(t, r)
		harness.WantVerdict(t, res, api.MemoryLimit)
		between(t, "oom kills", res.Usage.OOMKills, 1, 7)
		between(t, "memory", res.Usage.Memory, 50<<20, 60<<20)
	})

	t.Run("a sleeper uses next to nothing", func(t *testing.T) {
		res := a.MustRun(t, harness.Sh("exec sleep 0.5"))
		between(t, "cpu", res.Usage.CPU, 0, int64(harness.Slow(40*time.Millisecond)))
		between(t, "memory", res.Usage.Memory, 4096, 4<<20)
		harness.Promptly(t, 900*time.Millisecond, func() time.Duration {
			w := time.Duration(a.MustRun(t, harness.Sh("exec sleep 0.5")).Timing.Wall)
			if w < 490*time.Millisecond {
				t.Errorf("wall %s; want half a second", w)
			}
			return w
		})
	})

	t.Run("bytes written are counted beyond what is kept", func(t *testing.T) {
		res := a.MustRun(t, harness.Sh("head -c 12345 /dev/zero; head -c 777 /dev/zero >&2"))
		if res.Usage.StdoutBytes != 12345 || res.Usage.StderrBytes != 777 {
			t.Errorf("%d and %d bytes; want 12345 and 777", res.Usage.StdoutBytes, res.Usage.StderrBytes)
		}
	})
}

// A result identifies its run, when and where it ran, and under which rules.
func TestAResultSaysWhereItComesFrom(t *testing.T) {
	a := harness.StartAgent(t)
	began := time.Now()
	labelled := harness.Sh("true")
	labelled.Labels = api.Labels{Project: "p", Task: "t"}
	one, two := a.MustRun(t, labelled), a.MustRun(t, harness.Sh("true"))
	if one.Run == "" || one.Run == two.Run {
		t.Errorf("run ids %q and %q", one.Run, two.Run)
	}
	if one.Labels != labelled.Labels || one.Stage != api.StageRun {
		t.Errorf("labels %+v, stage %q", one.Labels, one.Stage)
	}

	started, err := time.Parse(time.RFC3339Nano, one.Timing.Started)
	if err != nil || started.Before(began.Add(-time.Second)) || started.After(time.Now().Add(time.Second)) ||
		!strings.HasSuffix(one.Timing.Started, "Z") {
		t.Errorf("started %q (%v); want now, in UTC", one.Timing.Started, err)
	}
	if x := one.Timing; x.Queued != 0 || x.SetUp <= 0 || x.Wall <= 0 || x.Finish <= 0 {
		t.Errorf("timing %+v", x)
	}

	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		t.Fatal(err)
	}

	h := one.Host
	if h.Kernel != unix.ByteSliceToString(u.Release[:]) || h.CgroupMode == "" || h.Mode != api.Strict || h.Brig == "" ||
		!strings.HasPrefix(h.Image, "sha256:") || h.Profile != "default" || h.PolicyHash == "" {
		t.Errorf("host %+v", h)
	}
	if h != two.Host {
		t.Errorf("the same run twice: %+v and %+v", h, two.Host)
	}

	strict := harness.Sh("true")
	strict.Profile = "managed"
	if other := a.MustRun(t, strict).Host; other.PolicyHash == h.PolicyHash || other.Profile != "managed" {
		t.Errorf("another profile has the policy %q of %q", other.PolicyHash, h.Profile)
	}

	fresh := harness.Sh("true")
	fresh.Mode = api.Fresh
	if other := a.MustRun(t, fresh).Host; other.Mode != api.Fresh {
		t.Errorf("a fresh run says its mode was %q", other.Mode)
	}
}

// Limits end a run at their deadline, not at the next tick of a timer.
func TestLimitsAreMetOnTime(t *testing.T) {
	a := harness.StartAgent(t)
	const limit = 250 * time.Millisecond
	for range 3 {
		harness.Promptly(t, limit+80*time.Millisecond, func() time.Duration {
			r := harness.Sh("while :; do :; done")
			r.Limits = api.Limits{CPU: api.Duration(limit), Wall: harness.Seconds(20)}
			res := a.MustRun(t, r)
			harness.WantVerdict(t, res, api.CPULimit)
			used := time.Duration(*res.Usage.CPU.Value)
			if used < limit {
				t.Errorf("a program under a cpu limit of %s was ended after %s", limit, used)
			}
			return used
		})

		harness.Promptly(t, limit+150*time.Millisecond, func() time.Duration {
			r := harness.Sh("exec sleep 5")
			r.Limits = api.Limits{CPU: harness.Seconds(20), Wall: api.Duration(limit)}
			res := a.MustRun(t, r)
			harness.WantVerdict(t, res, api.WallLimit)
			took := time.Duration(res.Timing.Wall)
			if took < limit {
				t.Errorf("a program under a wall limit of %s was ended after %s", limit, took)
			}
			return took
		})
	}
}

// Presets are smaller limits. The request's own fields override them, and what they leave open is
// the default.
func TestPresetsAndOverrides(t *testing.T) {
	a := harness.StartAgent(t)
	for _, tt := range []struct {
		name   string
		preset string
		limits api.Limits
		want   func(l *api.Limits)
	}{
		{"nothing asked", "", api.Limits{}, func(*api.Limits) {}},
		{"hardened", "hardened", api.Limits{}, func(l *api.Limits) {
			l.Memory, l.Wall, l.CPUs, l.Pids = 256*api.MiB, harness.Seconds(10), 0.5, 64
		}},
		{"light", "light", api.Limits{}, func(l *api.Limits) {
			l.Memory, l.Wall, l.CPUs, l.Pids = 128*api.MiB, harness.Seconds(5), 0.5, 64
		}},
		{"light with more memory and more pids", "light", api.Limits{Memory: api.GiB, Pids: 200}, func(l *api.Limits) {
			l.Memory, l.Wall, l.CPUs, l.Pids = api.GiB, harness.Seconds(5), 0.5, 200
		}},
		{"less of everything", "",
			api.Limits{Wall: harness.Seconds(1), Memory: 32 * api.MiB, Pids: 5, Output: 1000, Scratch: api.MiB, Inodes: 99,
				OpenFiles: 32, CPUs: 0.25,
				Weight: 100}, func(l *api.Limits) {
				*l = api.Limits{Wall: harness.Seconds(1), Memory: 32 * api.MiB, Pids: 5, Output: 1000, Scratch: api.MiB, Inodes: 99, OpenFiles: 32,
					CPUs: 0.25, Weight: 100}
			}},
		{"more of everything", "",
			api.Limits{Memory: api.GiB, Pids: 1000, Output: 64 * api.MiB, Scratch: 512 * api.MiB, Inodes: 100_000, OpenFiles: 300, CPUs: 1,
				Weight: 1024}, func(l *api.Limits) {
				*l = api.Limits{Wall: harness.Seconds(30), Memory: api.GiB, Pids: 1000, Output: 64 * api.MiB, Scratch: 512 * api.MiB, Inodes: 100_000,
					OpenFiles: 300, CPUs: 1, Weight: 1024}
			}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			// The documented numbers, spelt out: Defaults itself is under test.
			want := api.Limits{Wall: harness.Seconds(30), Memory: 512 * api.MiB, CPUs: 1, Weight: 1024, Pids: 100, Output: 16 * api.MiB,
				Scratch: 64 * api.MiB, Inodes: 10_000, OpenFiles: 256}
			tt.want(&want)
			want.CPU, want.Stack = want.Wall, want.Memory
			r := harness.Sh("exit 0")
			r.Preset, r.Limits = tt.preset, tt.limits
			res := a.MustRun(t, r)
			harness.WantVerdict(t, res, api.OK)
			if res.Limits != want {
				t.Errorf("limits %+v; want %+v", res.Limits, want)
			}
		})
	}
}
