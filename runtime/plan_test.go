package runtime

import (
	"errors"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/runtime/plan"
)

func TestChooseTakesTheReadiestSlot(t *testing.T) {
	key := plan.CellKey{ImageTree: plan.ImageTree{Image: "i"}}
	ready := func() *keeper { b := &keeper{}; b.available.Store(true); return b }
	with := func(b *keeper) map[plan.CellKey]*keeper { return map[plan.CellKey]*keeper{key: b} }
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
	p := &plan.Run{Argv: []string{"prog"}, Cell: plan.Cell{Key: plan.CellKey{ImageTree: plan.ImageTree{Image: "img"}}}}
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
	p := &plan.Run{
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
