package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/corpus"
)

// A selfcheck is a claim about the sandbox, and the programs that try to disprove it.
type selfcheck struct {
	id, claim string
	steps     []selfstep
}

// A selfstep is one run. judge describes what is wrong with its result, or returns an empty string.
// It is pure.
type selfstep struct {
	runWith func(*corpus.Canaries) api.Run
	judge   func(api.Result, *corpus.Canaries) string
}

// shellStep is a step of the tiny image's shell.
func shellStep(script string, l api.Limits, judge func(api.Result) string) selfstep {
	run := api.Run{
		Image: tinyImage, Argv: []string{"/bin/sh", "-c", script}, Collect: api.Collect{None: true},
		Limits: l.Over(api.Limits{Wall: corpus.Wall, Memory: 64 * api.MiB}),
	}
	return selfstep{
		func(*corpus.Canaries) api.Run { return run },
		func(r api.Result, _ *corpus.Canaries) string { return judge(r) },
	}
}

// corpusChecks makes checks of the hostile programs that do no harm to a host even if it fails to
// contain them.
func corpusChecks(cases []corpus.Case) []selfcheck {
	var all []selfcheck
	for _, k := range cases {
		if k.Harm != "" {
			continue
		}
		all = append(all, selfcheck{k.ID, k.Title, []selfstep{{k.Run, func(r api.Result, canaries *corpus.Canaries) string {
			return strings.Join(k.Check(r, append(canaries.Secrets(), canaries.Expand(k.Absent)...)), "; ")
		}}}})
	}
	return all
}

func selfchecks() []selfcheck {
	const ms = api.Duration(time.Millisecond)
	one := func(script string, l api.Limits, judge func(api.Result) string) []selfstep {
		return []selfstep{shellStep(script, l, judge)}
	}
	none := api.Limits{}
	return []selfcheck{
		{"identity", "the program is uid 1000, and has no privileged id on the host",
			one(`echo $(id -u) $(id -g) $(id -G); read a b c < /proc/self/uid_map; echo $a $b`, none, judgeIdentity)},
		{"capabilities", "the program has no capability",
			one(`grep ^Cap /proc/self/status`, none, judgeCapabilities)},
		{"privileges", "the program cannot gain privileges, and a filter is loaded",
			one(`grep -E '^(NoNewPrivs|Seccomp):' /proc/self/status | tr -d '\t'`, none,
				wantLines("NoNewPrivs:1", "Seccomp:2"))},
		{"network", "the program has no network",
			one(`grep -c : /proc/self/net/dev; wget -q -T 2 -O - http://127.0.0.1:1/ && echo reached; true`, none,
				judgeNetwork)},
		{"root", "the root is read-only",
			one(`for d in / /etc /usr /bin /dev; do (echo x > $d/brig-selftest) 2>/dev/null && echo wrote to $d; done; true`,
				none, wantLines())},
		{"scratch", "the scratch cannot exceed its limit",
			one(`dd if=/dev/zero of=/box/x bs=64k count=128 2>/dev/null && echo wrote it all; wc -c < /box/x`,
				api.Limits{Scratch: 2 * api.MiB}, judgeScratch)},
		{"memory-limit", "a program that takes too much memory is stopped",
			one(`x=aaaaaaaaaaaaaaaa; while :; do x=$x$x; done`, api.Limits{Memory: 16 * api.MiB}, wantVerdict(api.MemoryLimit))},
		{"wall-limit", "a program that waits too long is stopped",
			one(`sleep 20`, api.Limits{Wall: 200 * ms}, wantVerdict(api.WallLimit))},
		{"cpu-limit", "a program that computes too long is stopped",
			one(`while :; do :; done`, api.Limits{CPU: 200 * ms}, wantVerdict(api.CPULimit))},
		{"output-limit", "a program that writes too much is stopped",
			one(`yes`, api.Limits{Output: 64 * api.KiB}, wantVerdict(api.OutputLimit))},
		{"denied", "a forbidden system call is denied by name",
			one(`pivot_root /tmp /tmp 2>/dev/null; echo it went on`, none, judgeDenied)},
		{"pids", "the number of processes cannot exceed its limit",
			one(`for i in 1 2 3 4 5 6 7 8 9 10 11 12; do sleep 5 & done 2>/dev/null; true`, api.Limits{Pids: 6}, judgePids)},
		{"nothing-left", "a run finds nothing of the previous run", []selfstep{
			shellStep(`touch /box/mark /tmp/mark /dev/shm/mark; sleep 300 >/dev/null 2>&1 & echo made`, none, wantLines("made")),
			shellStep(`find /box /tmp /dev/shm -name mark; grep -x sleep /proc/[0-9]*/comm; grep -q . /proc/$$/comm && echo looked`, none, wantLines("looked")),
		}},
	}
}

// wantVerdict returns a judge that requires this verdict.
func wantVerdict(want api.Verdict) func(api.Result) string {
	return func(r api.Result) string {
		if r.Verdict != want {
			return fmt.Sprintf("the verdict is %s, not %s", r.Verdict, want)
		}
		return ""
	}
}

// wantLines returns a judge that requires the verdict ok and exactly these lines on stdout.
func wantLines(want ...string) func(api.Result) string {
	return func(r api.Result) string {
		if bad := wantVerdict(api.OK)(r); bad != "" {
			return bad
		}
		if got := outputLines(r); !slices.Equal(got, want) {
			return fmt.Sprintf("it printed %q, not %q", got, want)
		}
		return ""
	}
}

func outputLines(r api.Result) []string {
	text := strings.TrimSpace(string(r.Stdout))
	if text == "" {
		return nil
	}
	return strings.Split(text, "\n")
}

func judgeIdentity(r api.Result) string {
	got := outputLines(r)
	if len(got) != 2 || got[0] != "1000 1000 1000" {
		return fmt.Sprintf("its ids are %q", got)
	}
	var inside, host int64
	if _, err := fmt.Sscan(got[1], &inside, &host); err != nil {
		return fmt.Sprintf("its uid_map is %q", got[1])
	}
	if host == 0 || host == inside {
		return fmt.Sprintf("its uid %d is the host's %d", inside, host)
	}
	return ""
}

func judgeCapabilities(r api.Result) string {
	got := outputLines(r)
	if len(got) != 5 {
		return fmt.Sprintf("there are %d sets, not 5", len(got))
	}
	for _, set := range got {
		if name, value, _ := strings.Cut(set, ":"); strings.Trim(value, "0\t ") != "" {
			return fmt.Sprintf("%s is %s", name, strings.TrimSpace(value))
		}
	}
	return ""
}

// judgeNetwork accepts the loopback device only, which is down.
func judgeNetwork(r api.Result) string {
	switch got := outputLines(r); {
	case slices.Contains(got, "reached"):
		return "it reached a server"
	case len(got) == 0:
		return "it could not count its network devices"
	case got[0] != "0" && got[0] != "1":
		return "it has " + got[0] + " network devices"
	}
	return ""
}

func judgeScratch(r api.Result) string {
	var size int64
	got := strings.Join(outputLines(r), " ")
	if _, err := fmt.Sscan(got, &size); err != nil {
		return fmt.Sprintf("it printed %q", got)
	}
	if size == 0 || size > int64(2*api.MiB) {
		return fmt.Sprintf("it wrote %d bytes of a limit of %d", size, 2*api.MiB)
	}
	return ""
}

func judgeDenied(r api.Result) string {
	if bad := wantVerdict(api.Denied)(r); bad != "" {
		return bad
	}
	if r.Denial == nil || r.Denial.Syscall == "" || r.Denial.Rule == "" {
		return "the verdict does not name call and rule"
	}
	return ""
}

func judgePids(r api.Result) string {
	if !slices.Contains(r.LimitsHit, api.HitPids) {
		return "twelve processes were started under a limit of six"
	}
	return ""
}
