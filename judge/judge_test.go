package judge_test

import (
	"slices"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/judge"
)

var judged = api.Limits{Wall: api.Duration(2 * time.Second), CPU: api.Duration(time.Second), Memory: 100 * api.MiB}

func TestVerdict(t *testing.T) {
	late := api.Duration(3 * time.Second)
	denial := &api.Denial{Syscall: "ptrace", Number: 101}
	logged := &api.Denial{Syscall: "ptrace", Number: 101, Allowed: true}
	for _, tt := range []struct {
		name string
		ev   judge.Evidence
		want api.Verdict
	}{
		{"no evidence is a program that did well", judge.Evidence{}, api.OK},
		{"an exit code is the program's own", judge.Evidence{ExitCode: 3}, api.Nonzero},
		{"a signal is a signal", judge.Evidence{Signal: 11}, api.Signaled},
		{"a signal wins over an exit code, which means nothing then", judge.Evidence{Signal: 11, ExitCode: 1}, api.Signaled},
		{"SIGKILL without evidence is a signal", judge.Evidence{Signal: 9}, api.Signaled},
		{"SIGSYS without a denial is a signal", judge.Evidence{Signal: 31}, api.Signaled},
		{"SIGXCPU without the time used is a signal", judge.Evidence{Signal: 24}, api.Signaled},

		{"an OOM kill with the group's own limit hit is memory-limit", judge.Evidence{OOMKills: 1, MemoryHits: 1, Signal: 9}, api.MemoryLimit},
		{"an OOM kill of a child counts though the parent exits with 0", judge.Evidence{OOMKills: 1, MemoryHits: 1}, api.MemoryLimit},
		{"an OOM kill without the group's limit hit is not the program's doing", judge.Evidence{OOMKills: 1, Signal: 9}, api.Signaled},
		{"meeting the limit without a kill is no verdict", judge.Evidence{MemoryHits: 7}, api.OK},
		{"set-up that did not fit is memory-limit", judge.Evidence{SetupOOM: true}, api.MemoryLimit},

		{"cpu time over the limit is cpu-limit", judge.Evidence{CPU: late, Signal: 9}, api.CPULimit},
		{"cpu time of exactly the limit is not over it", judge.Evidence{CPU: judged.CPU}, api.OK},
		{"cpu time over the limit counts though the program exited with 0", judge.Evidence{CPU: judged.CPU + 1}, api.CPULimit},
		{"wall time over the limit counts though the timer was late", judge.Evidence{Wall: judged.Wall + 1}, api.WallLimit},
		{"an expired wall clock is wall-limit though the figure is below",
			judge.Evidence{WallExpired: true, Wall: judged.Wall - 1, Signal: 9}, api.WallLimit},
		{"an expired wall clock of a program that had exited below the limit is its exit",
			judge.Evidence{WallExpired: true, Wall: judged.Wall - 1}, api.OK},
		{"and its exit code is its own", judge.Evidence{WallExpired: true, Wall: judged.Wall - 1, ExitCode: 3}, api.Nonzero},
		{"and its signal, which was not ours", judge.Evidence{WallExpired: true, Wall: judged.Wall - 1, Signal: 11}, api.Signaled},
		{"an exit above the limit is wall-limit though the clock was not first",
			judge.Evidence{WallExpired: true, Wall: judged.Wall + 1}, api.WallLimit},
		{"a full stream is output-limit", judge.Evidence{OutputFull: true, Signal: 9}, api.OutputLimit},
		{"a denied call is denied", judge.Evidence{Denial: denial, Signal: 9}, api.Denied},
		{"a call that log mode let go on is not", judge.Evidence{Denial: logged}, api.OK},
		{"refused forks, full scratch, used-up descriptors are no verdict",
			judge.Evidence{PidsHits: 9, ScratchHit: true, InodesHit: true, FilesHit: true}, api.OK},
		{"the signal of a file that is too large is a signal", judge.Evidence{Signal: 25, SizeHit: true}, api.Signaled},

		{"canceled wins over memory", judge.Evidence{Canceled: true, OOMKills: 1, MemoryHits: 1}, api.Canceled},
		{"canceled wins over denied", judge.Evidence{Canceled: true, Denial: denial}, api.Canceled},
		{"canceled wins over time", judge.Evidence{Canceled: true, WallExpired: true, CPU: late, Signal: 9}, api.Canceled},
		{"canceled wins over output", judge.Evidence{Canceled: true, OutputFull: true}, api.Canceled},
		{"canceled wins over an exit with 0", judge.Evidence{Canceled: true}, api.Canceled},
		{"memory wins over denied", judge.Evidence{OOMKills: 1, MemoryHits: 1, Denial: denial}, api.MemoryLimit},
		{"memory wins over cpu", judge.Evidence{OOMKills: 1, MemoryHits: 1, CPU: late}, api.MemoryLimit},
		{"memory wins over wall", judge.Evidence{OOMKills: 1, MemoryHits: 1, WallExpired: true, Signal: 9}, api.MemoryLimit},
		{"memory wins over output", judge.Evidence{OOMKills: 1, MemoryHits: 1, OutputFull: true}, api.MemoryLimit},
		{"set-up memory wins over wall", judge.Evidence{SetupOOM: true, WallExpired: true, Signal: 9}, api.MemoryLimit},
		{"denied wins over cpu", judge.Evidence{Denial: denial, CPU: late}, api.Denied},
		{"denied wins over wall", judge.Evidence{Denial: denial, WallExpired: true, Signal: 9}, api.Denied},
		{"denied wins over output", judge.Evidence{Denial: denial, OutputFull: true}, api.Denied},
		{"cpu wins over wall", judge.Evidence{CPU: late, WallExpired: true, Signal: 9}, api.CPULimit},
		{"cpu wins over output", judge.Evidence{CPU: late, OutputFull: true}, api.CPULimit},
		{"wall wins over output", judge.Evidence{WallExpired: true, OutputFull: true, Signal: 9}, api.WallLimit},
		{"output wins over the signal it sends", judge.Evidence{OutputFull: true, Signal: 9}, api.OutputLimit},
		{"output wins over a runtime out of heap", judge.Evidence{OutputFull: true, OutOfHeap: true}, api.OutputLimit},
		{"a runtime out of heap is memory-limit", judge.Evidence{ExitCode: 77, OutOfHeap: true}, api.MemoryLimit},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := judge.Verdict(tt.ev, judged); got != tt.want {
				t.Errorf("Verdict(%+v) = %s; want %s", tt.ev, got, tt.want)
			}
		})
	}
}

func TestVerdictAtTheLimits(t *testing.T) {
	if got := judge.Verdict(judge.Evidence{Peak: 100 * api.MiB}, judged); got != api.OK {
		t.Errorf("an exit with 0 at the limit is %s; want ok", got)
	}
	if got := judge.Verdict(judge.Evidence{CPU: 1, Wall: 1}, api.Limits{}); got != api.OK {
		t.Errorf("without limits the verdict is %s; want ok", got)
	}
}

func TestLimitsHit(t *testing.T) {
	all := judge.Evidence{
		WallExpired: true, Signal: 9, CPU: judged.CPU + 1, OOMKills: 1, MemoryHits: 1, PidsHits: 1,
		OutputFull: true, ScratchHit: true, InodesHit: true, FilesHit: true, SizeHit: true,
	}
	for _, tt := range []struct {
		name string
		ev   judge.Evidence
		want []string
	}{
		{"nothing hit", judge.Evidence{ExitCode: 1}, []string{}},
		{"a runtime out of heap met the memory limit", judge.Evidence{OutOfHeap: true}, []string{"memory"}},
		{"all of them, in the order of Limits", all, []string{"wall", "cpu", "memory", "pids", "output", "scratch", "inodes", "open_files",
			"file_size"}},
		{"one that decides nothing", judge.Evidence{PidsHits: 3}, []string{"pids"}},
		{"a limit that decides is listed though the caller left", judge.Evidence{Canceled: true, OutputFull: true}, []string{"output"}},
		{"a clock that ran out after the program had exited", judge.Evidence{WallExpired: true, Wall: judged.Wall - 1}, []string{}},
		{"memory that was reclaimed is not hit", judge.Evidence{MemoryHits: 5}, []string{}},
		{"an OOM kill from a group above is not this run's limit", judge.Evidence{OOMKills: 1}, []string{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := judge.LimitsHit(tt.ev, judged)
			if !slices.Equal(got, tt.want) {
				t.Errorf("%q; want %q", got, tt.want)
			}
			if got == nil {
				t.Error("nil, which is null in JSON; want []")
			}
		})
	}
}
