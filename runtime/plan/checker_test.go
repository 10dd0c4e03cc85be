package plan

import (
	"slices"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/judge"
)

// What judges a run shares no more with other runs than the run itself does.
func TestWhatJudgesHasTheModeOfTheRun(t *testing.T) {
	pl := &Planner{Memory: api.GiB}
	for _, mode := range []api.Mode{"", api.Strict, api.Fresh, api.Exclusive} {
		if got := pl.runOfChecker(api.Check{Protocol: api.ProtocolExit}, mode).Mode; got != mode {
			t.Errorf("a checker of mode %q has mode %q", mode, got)
		}
		if got := pl.runOfInteractor(api.Interactor{Protocol: api.ProtocolKattis}, mode, api.Limits{}).Mode; got != mode {
			t.Errorf("an interactor of mode %q has mode %q", mode, got)
		}
	}
}

// A file in the place of one that brig adds on each test is refused before anything runs.
func TestNamesOfTheProtocolAreReserved(t *testing.T) {
	pl := &Planner{}
	for _, name := range []string{"judge", "judge/input", "judge/output", "judge/answer/x", "feedback", "feedback/nextpass.in"} {
		_, err := pl.checker(t.Context(),
			api.Check{Program: api.Program{Files: []api.File{{Name: name}}}, Protocol: api.ProtocolKattis}, "", api.Caller{})
		if !api.HasCode(err, api.CodeBadFile) {
			t.Errorf("a checker with %s: %v", name, err)
		}
		if name == "judge/output" {
			continue
		}

		_, err = pl.interactor(t.Context(),
			api.Run{Interactor: &api.Interactor{Program: api.Program{Files: []api.File{{Name: name}}}, Protocol: api.ProtocolKattis}},
			api.Limits{}, api.Caller{})
		if !api.HasCode(err, api.CodeBadFile) {
			t.Errorf("an interactor with %s: %v", name, err)
		}
	}

	for name, reserved := range map[string]bool{"input.txt": true, "judge/input": false} {
		_, err := pl.interactor(t.Context(),
			api.Run{Interactor: &api.Interactor{Program: api.Program{Files: []api.File{{Name: name}}}, Protocol: api.ProtocolCMS}},
			api.Limits{}, api.Caller{})
		if api.HasCode(err, api.CodeBadFile) != reserved {
			t.Errorf("a manager with %s: %v", name, err)
		}
	}

	if err := checkNames("check", []api.File{{Name: "testlib.h"}, {Name: "judge/x"}, {Name: "user_out"}}, "a.py",
		[]string{"judge/input", "feedback"}); err != nil {
		t.Error(err)
	}
	if err := checkNames("calls", []api.File{{Name: "solution.py"}}, "", []string{"solution.py"}); !api.HasCode(err, api.CodeBadFile) {
		t.Error(err)
	}
}

// A manager gets the names of two pipes for each process, in the order of CMS, and the input; the expected
// output stays with the agent. Processes get their own two names, if they open pipes, and their numbers.
func TestManagersAndProcesses(t *testing.T) {
	input := []byte("in")
	for _, tt := range []struct {
		processes        int
		io               api.ProgramIO
		manager, process []string // process: of the last one
	}{
		{0, "", []string{"m", "/proc/self/fd/64", "/proc/self/fd/65", "own", "each"}, []string{"p"}},
		{1, api.FIFOIO, []string{"m", "/proc/self/fd/64", "/proc/self/fd/65", "own", "each"},
			[]string{"p", "/proc/self/fd/64", "/proc/self/fd/65"}},
		{2, api.StdIO, []string{"m", "/proc/self/fd/64", "/proc/self/fd/65", "/proc/self/fd/66", "/proc/self/fd/67", "own",
			"each"}, []string{"p", "1"}},
		{2, api.FIFOIO, []string{"m", "/proc/self/fd/64", "/proc/self/fd/65", "/proc/self/fd/66", "/proc/self/fd/67", "own", "each"},
			[]string{"p", "/proc/self/fd/64", "/proc/self/fd/65", "1"}},
	} {
		i := &api.Interactor{Protocol: api.ProtocolCMS, Args: []string{"own"}, Processes: tt.processes, ProgramIO: tt.io}
		j := &Job{Request: api.Run{Interactor: i}, Interactor: &Job{Run: &Run{Argv: []string{"m"}}}}
		p := &Run{Argv: []string{"p"}, Stdin: input}
		m := j.Interact(api.Test{CheckArgs: []string{"each"}}, p, []byte("answer"), nil)
		if !slices.Equal(m.Argv, tt.manager) || string(m.Stdin) != "in" || len(m.Files) != 1 || m.Files[0].Name != "input.txt" ||
			string(m.Files[0].Content) != "in" {
			t.Errorf("%d processes, %s: the manager is %q with stdin %q and %v", tt.processes, tt.io, m.Argv, m.Stdin, m.Files)
		}
		last := j.Process(p, i.ProcessCount()-1)
		if !slices.Equal(last.Argv, tt.process) || last.Stdin != nil {
			t.Errorf("%d processes, %s: the last one is %q with stdin %q", tt.processes, tt.io, last.Argv, last.Stdin)
		}
	}
}

// A program that waits for ever ends before its interactor does, although the time in which the interactor computes is
// added to its wall limit: the wall limit of the interactor has both.
func TestWallOfInteractors(t *testing.T) {
	second := api.Duration(time.Second)
	j := &Job{Request: api.Run{Interactor: &api.Interactor{Protocol: api.ProtocolKattis}},
		Interactor: &Job{Run: &Run{Limits: api.Limits{CPU: 10 * second, Wall: second}}}}
	p := &Run{Limits: api.Limits{CPU: second, Wall: 3 * second}}
	if got := j.Interact(api.Test{}, p, nil, nil).Limits; got.Wall != 14*second || got.CPU != 10*second {
		t.Errorf("wall %s, cpu %s; want 14s of its own, the program's and its processor time, and 10s", got.Wall, got.CPU)
	}
}

// Of an interactor only the files of its protocol are read: others may be links, or too large.
func TestFilesOfInteractors(t *testing.T) {
	pl := &Planner{Memory: api.GiB}
	for protocol, some := range map[api.Protocol]bool{api.ProtocolKattis: true, api.ProtocolTestlib: true, api.ProtocolDMOJ: false,
		api.ProtocolCOCI: false, api.ProtocolCMS: false} {
		if got := pl.runOfInteractor(api.Interactor{Protocol: protocol}, "", api.Limits{}).Collect; got.None == some ||
			len(got.Globs) > 0 != some {
			t.Errorf("%s: %+v", protocol, got)
		}
	}
}

// A manager may compute as long as all processes together, and 10 s at least, within the ceiling.
func TestTimeOfManagers(t *testing.T) {
	second := api.Duration(time.Second)
	pl := &Planner{Memory: api.GiB, Ceiling: api.Limits{CPU: 30 * second, Wall: 100 * second}}
	for _, tt := range []struct {
		processes          int
		program, own, want api.Duration
	}{{1, second, 0, 10 * second}, {4, 4 * second, 0, 20 * second}, {7, 10 * second, 0, 30 * second}, {4, 4 * second, second, second}} {
		i := api.Interactor{Protocol: api.ProtocolCMS, Processes: tt.processes, Program: api.Program{Limits: api.Limits{CPU: tt.own}}}
		got := pl.runOfInteractor(i, "", api.Limits{CPU: tt.program}).Limits
		if wall := min(api.BusyWall(tt.want), 100*second); got.CPU != tt.want || got.Wall != wall {
			t.Errorf("%d processes with %s: cpu %s, wall %s; want cpu %s", tt.processes, tt.program, got.CPU, got.Wall, tt.want)
		}
	}
}

// A program and what judges it fit into the part of the memory that each slot has.
func TestMemoryOfWhatJudgesFollowsItsSlot(t *testing.T) {
	for _, tt := range []struct {
		memory api.Size
		slots  int
		want   api.Size
	}{
		{3 * api.GiB, 2, 768 * api.MiB},
		{18 * api.GiB, 2, 2 * api.GiB},
		{3 * api.GiB, 0, 1536 * api.MiB},
		{api.GiB, 8, 256 * api.MiB},
		{256 * api.MiB, 8, 128 * api.MiB},
	} {
		pl := &Planner{Memory: tt.memory, Slots: tt.slots}
		if got := pl.judgeMemory(); got != tt.want {
			t.Errorf("%s for %d slots: %s; want %s", tt.memory, tt.slots, got, tt.want)
		}
	}
}

// What judges a test gets files of any size: none takes room of its own scratch, which may be smaller than each of them.
func TestScratchOfWhatJudgesFollowsWhatItGets(t *testing.T) {
	const mine = 64 * api.KiB
	limits := api.Limits{Scratch: mine, Inodes: 4}
	feedback := []api.File{{Name: judge.FeedbackDir + "/note", Content: []byte("one page")}}
	test := api.Test{ID: "1"}
	for _, size := range []int{0, 1, 4096, 5 << 20} {
		content := make([]byte, size)
		var made []*Run
		for _, p := range []api.Protocol{api.ProtocolKattis, api.ProtocolTestlib, api.ProtocolCMS, api.ProtocolDMOJ, api.ProtocolCOCI,
			api.ProtocolEjudge, api.ProtocolSYZOJ, api.ProtocolLemon, api.ProtocolPEG, api.ProtocolScaleBox, api.ProtocolExit, api.ProtocolPython} {
			j := &Job{Request: api.Run{Check: &api.Check{Protocol: p}}, Checker: &Job{Run: &Run{Limits: limits}}}
			made = append(made, j.Check(test, content, content, content, feedback))
		}
		for _, p := range []api.Protocol{api.ProtocolKattis, api.ProtocolTestlib, api.ProtocolDMOJ, api.ProtocolCOCI, api.ProtocolCMS} {
			j := &Job{Request: api.Run{Interactor: &api.Interactor{Protocol: p}}, Interactor: &Job{Run: &Run{Limits: limits}}}
			made = append(made, j.Interact(test, &Run{Stdin: content}, content, feedback))
		}

		for i, one := range made {
			want := api.Size(mine)
			for _, f := range one.Files {
				want += PageBytes(f)
			}
			if got, inodes := one.ScratchSize(); len(one.Files) == 0 || got != want || inodes < 4+int64(len(one.Files)) {
				t.Errorf("%d bytes, %d of what judges: a scratch of %s and %d inodes for %d files; want %s", size, i, got, inodes,
					len(one.Files), want)
			}
			if got := InputMemory(one.Files); size > 1<<20 && got < api.Size(size) {
				t.Errorf("%d bytes, %d of what judges: its memory counts %s of them", size, i, got)
			}
		}
	}
}
