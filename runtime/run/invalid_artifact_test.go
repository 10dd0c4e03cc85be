package run

import (
	"errors"
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/runtime/cell"
	"github.com/brig-sandbox/brig/runtime/plan"
)

func TestStartErrors(t *testing.T) {
	p := &plan.Run{Argv: []string{"prog"}, Cell: plan.Cell{Key: plan.CellKey{ImageTree: plan.ImageTree{Image: "img"}}}}
	for errno, want := range map[unix.Errno]api.Code{
		unix.ENOENT: api.CodeNoProgram, unix.ENOTDIR: api.CodeNoProgram, unix.EACCES: api.CodeBadProgram,
		unix.ENOEXEC: api.CodeBadProgram, unix.E2BIG: api.CodeTooLarge, unix.EIO: api.CodeBadProgram, unix.ENFILE: "",
	} {
		var e *api.Error
		err := startError(p, &cell.StepError{Step: "exec", Err: errno})
		if errors.As(err, &e) != (want != "") || e != nil && e.Code != want {
			t.Errorf("%v gives %v; want code %q", errno, err, want)
		}
	}

	if err := startError(p, &cell.StepError{Step: "cgroup", Err: unix.ENOENT}); isUserError(err) {
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
		var artifact *plan.InvalidArtifact
		if code != tt.code || errors.As(err, &artifact) != tt.unfit || (why != "") != (code != 0) {
			t.Errorf("%s, %v: code %d, %q, %v; want code %d, unfit %v", tt.command, tt.errno, code, why, err, tt.code, tt.unfit)
		}
	}
}
