package runtime

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

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
		{name: "a preset beats the language", run: api.Run{Preset: "light"}, language: api.Limits{Memory: api.GiB}, want: func(l api.Limits) bool {
			return l.Memory == 128*api.MiB && l.Wall == sec(5) && l.CPUs == 0.5 && l.Pids == 64
		}},
		{name: "a field beats the preset", run: api.Run{Preset: "light", Limits: api.Limits{Pids: 50}}, want: func(l api.Limits) bool { return l.Pids == 50 && l.CPUs == 0.5 }},
		{name: "the language beats the defaults", language: api.Limits{Memory: api.GiB}, want: func(l api.Limits) bool { return l.Memory == api.GiB }},
		{name: "a default above the ceiling is lowered", ceiling: api.Limits{Memory: 64 * api.MiB, CPU: sec(1)}, want: func(l api.Limits) bool {
			return l.Memory == 64*api.MiB && l.CPU == sec(1) && l.Wall == sec(30)
		}},
		{name: "a wish above the ceiling is refused", run: api.Run{Limits: api.Limits{Memory: 65 * api.MiB}}, ceiling: api.Limits{Memory: 64 * api.MiB}, code: api.CodeAboveCeiling},
		{name: "swap is none unless the ceiling allows it", run: api.Run{Limits: api.Limits{Swap: api.MiB}}, code: api.CodeAboveCeiling},
		{name: "too little memory is refused", run: api.Run{Limits: api.Limits{Memory: api.MiB}}, code: api.CodeBadLimits},
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

// CAP-10: the environment is what is documented, and later sources win.
func TestEnvironmentIsExactlyWhatIsDocumented(t *testing.T) {
	t.Setenv("BRIG_SECRET", "of the agent")
	got := Environment(map[string]string{"LANG": "C", "A": "language"}, map[string]string{"A": "caller"})
	want := []string{"A=caller", "HOME=/box", "LANG=C", "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "TMPDIR=/tmp"}
	if !slices.Equal(got, want) {
		t.Errorf("environment %q; want %q", got, want)
	}
}

func TestRlimits(t *testing.T) {
	l := api.Limits{OpenFiles: 7, Stack: 1 << 20, Scratch: 1 << 21, CPU: api.Duration(1500 * time.Millisecond)}
	want := map[uint32]uint64{unix.RLIMIT_NOFILE: 7, unix.RLIMIT_STACK: 1 << 20, unix.RLIMIT_FSIZE: 1 << 21, unix.RLIMIT_CPU: 4}
	got := rlimits(l, 0, 0)
	if len(got) != len(want) {
		t.Fatalf("%d limits; want %d", len(got), len(want))
	}
	for _, r := range got {
		if r.Soft != want[r.Resource] || r.Hard != r.Soft {
			t.Errorf("resource %d: soft %d, hard %d; want %d", r.Resource, r.Soft, r.Hard, want[r.Resource])
		}
	}
}

func TestSourceIsPlacedUnderItsName(t *testing.T) {
	r := api.Run{Source: api.Bytes("x"), Files: []api.File{{Name: "a"}}}
	files, err := sourceFile(r, "main.py")
	if err != nil || len(files) != 2 || files[1].Name != "main.py" || len(r.Files) != 1 {
		t.Errorf("files %+v, %v", files, err)
	}
	if _, err := sourceFile(r, "a"); err == nil {
		t.Error("a file of the source's name was accepted")
	}
}

func TestChooseTakesTheReadiestSlot(t *testing.T) {
	key := CellKey{ImageTree: ImageTree{Image: "i"}}
	ready := func() *keeper { b := &keeper{}; b.available.Store(true); return b }
	with := func(b *keeper) map[CellKey]*keeper { return map[CellKey]*keeper{key: b} }
	for _, tt := range []struct {
		name  string
		slots []*slotState
		want  int
		once  bool
	}{
		{"none is free", []*slotState{{leased: true}, {leased: true}}, -1, false},
		{"a parked shell beats a cell being refilled", []*slotState{{keepers: with(&keeper{})}, {keepers: with(ready())}}, 1, false},
		{"a cell being refilled beats building one", []*slotState{{}, {keepers: with(&keeper{})}}, 1, false},
		{"but not where the cell serves once", []*slotState{{last: 1}, {keepers: with(&keeper{}), last: 2}}, 0, true},
		{"of ready ones the last used", []*slotState{{keepers: with(ready()), last: 1}, {keepers: with(ready()), last: 3}, {keepers: with(ready()), last: 2}}, 1, false},
		{"of cells being refilled the longest idle", []*slotState{{keepers: with(&keeper{}), last: 2}, {keepers: with(&keeper{}), last: 1}, {keepers: with(&keeper{}), last: 3}}, 1, false},
		{"of slots that were never used the first", []*slotState{{}, {}}, 0, false},
		{"of slots without the longest idle", []*slotState{{last: 2}, {last: 1}}, 1, false},
		{"a leased slot is nobody's", []*slotState{{keepers: with(ready()), leased: true}, {}}, 1, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := choose(tt.slots, key, tt.once)
			if tt.want < 0 && got != nil || tt.want >= 0 && got != tt.slots[tt.want] {
				t.Errorf("chose %v; want slot %d", got, tt.want)
			}
		})
	}
}

func TestCapacityFollowsTheLimitOnOpenFiles(t *testing.T) {
	for _, tt := range []struct {
		limit uint64
		slots int
		want  capacity
		ok    bool
	}{
		{1 << 20, 2, capacity{keepers: maxKeepers}, true},
		{4096, 2, capacity{keepers: maxKeepers}, true},
		{20000, 64, capacity{keepers: 4}, true},
		{20000, 200, capacity{keepers: 1}, true},
		{20000, 450, capacity{keepers: 1, singleLeaf: true}, true},
		{20000, 4096, capacity{}, false},
		{256, 1, capacity{}, false},
	} {
		if got, ok := capacityFor(tt.limit, tt.slots); got != tt.want || ok != tt.ok {
			t.Errorf("%d files for %d slots: %+v, %v; want %+v, %v", tt.limit, tt.slots, got, ok, tt.want, tt.ok)
		}
	}
}

func TestStartErrors(t *testing.T) {
	p := &Run{Argv: []string{"prog"}, Cell: cellPlan{key: CellKey{ImageTree: ImageTree{Image: "img"}}}}
	for errno, want := range map[unix.Errno]api.Code{
		unix.ENOENT: api.CodeNoProgram, unix.ENOTDIR: api.CodeNoProgram, unix.EACCES: api.CodeBadProgram,
		unix.ENOEXEC: api.CodeBadProgram, unix.E2BIG: api.CodeTooLarge, unix.EIO: api.CodeBadProgram, unix.ENFILE: "",
	} {
		var e *api.Error
		err := startError(p, &StepError{"exec", errno})
		if errors.As(err, &e) != (want != "") || e != nil && e.Code != want {
			t.Errorf("%v gives %v; want code %q", errno, err, want)
		}
	}
	if err := startError(p, &StepError{"cgroup", unix.ENOENT}); isUserError(err) {
		t.Error("a step of ours that failed was blamed on the caller")
	}
}

func TestInvalidProgramsAreTheirAuthorsFault(t *testing.T) {
	box, err := os.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer box.Close()
	p := &Run{
		Files: []api.File{{Name: "data"}, {Name: "tool", Executable: true}, {Name: "dir/tool", Executable: true}},
		Built: []api.File{{Name: "main"}},
	}
	for _, tt := range []struct {
		command string
		errno   unix.Errno
		code    int
		unfit   bool // the artifact
	}{
		{"./main", unix.EACCES, 0, true},
		{"/box/main", unix.ENOENT, 0, true},
		{"./x/../main", unix.ENOEXEC, 0, true},
		{"./main", unix.E2BIG, 0, false}, // argv and env come from the caller
		{"./main", unix.EAGAIN, 0, false},
		{"main", unix.ENOENT, 0, false}, // searched for in PATH
		{"/bin/main", unix.ENOENT, 0, false},
		{"../main", unix.ENOENT, 0, false},
		{"./tool", unix.ENOEXEC, 126, false},
		{"dir/tool", unix.ENOENT, 127, false},
		{"./data", unix.EACCES, 0, false}, // the request marks it as not executable
		{"./none", unix.ENOENT, 0, false},
		{"./dir", unix.EACCES, 0, false},
	} {
		p.Argv = []string{tt.command}
		code, why, err := classifyExecFailure(p, box, tt.errno)
		var artifact *invalidArtifact
		if code != tt.code || errors.As(err, &artifact) != tt.unfit || (why != "") != (code != 0) {
			t.Errorf("%s, %v: code %d, %q, %v; want code %d, unfit %v", tt.command, tt.errno, code, why, err, tt.code, tt.unfit)
		}
	}
}

func TestOutOfHeap(t *testing.T) {
	peak := &Run{OOMExitCode: 77, Limits: api.Limits{Memory: 100 * api.MiB}}
	says := &Run{OOMExitCode: 77, OOMMessage: "out of heap", Limits: peak.Limits}
	for _, tt := range []struct {
		name string
		plan *Run
		ev   api.Evidence
		tail string
		want bool
	}{
		{"near the limit", peak, api.Evidence{ExitCode: 77, Peak: 90 * api.MiB}, "", true},
		{"far from the limit", peak, api.Evidence{ExitCode: 77, Peak: 90*api.MiB - 1}, "", false},
		{"with an unknown peak", peak, api.Evidence{ExitCode: 77}, "", false},
		{"a signal", peak, api.Evidence{Signal: 6, ExitCode: 77, Peak: 100 * api.MiB}, "", false},
		{"another exit code", peak, api.Evidence{ExitCode: 78, Peak: 100 * api.MiB}, "", false},
		{"no exit code declared", &Run{Limits: peak.Limits}, api.Evidence{Peak: 100 * api.MiB}, "", false},
		{"said far from the limit", says, api.Evidence{ExitCode: 77, Peak: api.MiB}, "vm: out of heap\n", true},
		{"said with another exit code", says, api.Evidence{ExitCode: 1}, "vm: out of heap\n", false},
		{"not said, near the limit", says, api.Evidence{ExitCode: 77, Peak: 100 * api.MiB}, "I exit with 77\n", false},
	} {
		if got := tt.plan.OutOfHeap(tt.ev, []byte(tt.tail)); got != tt.want {
			t.Errorf("%s: %v", tt.name, got)
		}
	}
}

// The end of a stream is kept, whether or not the rest is delivered.
func TestEndOfAStream(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	s, buf := stream{file: r, limit: 1 << 20, maxKept: 1 << 20}, make([]byte, 1000)
	for _, part := range []string{"", "abc", strings.Repeat("x", 300) + "end", strings.Repeat("y", 255), "!"} {
		if _, err := w.WriteString(part); err != nil {
			t.Fatal(err)
		}
		if part != "" {
			if _, err := s.read(buf, true); err != nil {
				t.Fatal(err)
			}
		}
		if want := s.kept[max(0, len(s.kept)-maxTail):]; string(s.tail) != string(want) {
			t.Errorf("the end is %q; want %q", s.tail, want)
		}
	}
	w.Close()
}

func TestProcessorLists(t *testing.T) {
	for list, want := range map[string][]int{"0": {0}, "0-2,5\n": {0, 1, 2, 5}} {
		if got, err := ParseCPUs(list); err != nil || !slices.Equal(got, want) {
			t.Errorf("%q: %v, %v; want %v", list, got, err, want)
		}
	}
	for _, bad := range []string{"", "a", "2-1", "-1", "0-99999999", "1,,2", strings.Repeat("9", 30)} {
		if got, err := ParseCPUs(bad); err == nil {
			t.Errorf("%q: accepted as %v", bad, got)
		}
	}
}
