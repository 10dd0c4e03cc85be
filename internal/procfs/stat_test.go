package procfs

import (
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestParseStat(t *testing.T) {
	const rest = " 41 7 7 0 -1 4194564 210 0 3 0 12 30 1 2 20 0 1 0 100 0 0 18446744073709551615"
	for name, state := range map[string]byte{"sh": 'S', "a) R 1 (b": 'D', "": 'Z', "new\nline": 'R'} {
		got, err := parseStat([]byte("42 (" + name + ") " + string(state) + rest))
		want := Stat{Name: name, State: state, Parent: 41, Group: 7, Flags: 0x400104, MinorFaults: 210, CPU: 420 * time.Millisecond}
		if err != nil || got != want {
			t.Errorf("%q: %+v, %v; want %+v", name, got, err, want)
		}
	}

	for _, bad := range []string{"", "42", "42 (sh", "42 )sh(", "42 (sh)", "42 (sh) S 41 7",
		"42 (sh) S" + strings.Replace(rest, "12", "x", 1)} {
		if s, err := parseStat([]byte(bad)); err == nil {
			t.Errorf("%q: %+v; want an error", bad, s)
		}
	}
}

func TestReadStat(t *testing.T) {
	s, err := ReadStat("self")
	if err != nil || s.Parent != os.Getppid() || s.MinorFaults == 0 {
		t.Errorf("%+v, %v; want a process of %d that has touched memory", s, err, os.Getppid())
	}

	runtime.LockOSThread() // another thread might read what this one has opened
	defer runtime.UnlockOSThread()
	if thread, err := ReadStat("thread-self"); err != nil || thread.State != 'R' {
		t.Errorf("the thread that reads: %+v, %v; want state R", thread, err)
	}
	if s, err := ReadStat("no-process"); err == nil {
		t.Errorf("%+v; want an error", s)
	}

	used, err := CPUTime(os.Getpid())
	for began := time.Now(); err == nil && used == 0 && time.Since(began) < time.Minute; { // the loop uses some
		used, err = CPUTime(os.Getpid())
	}
	if err != nil || used == 0 {
		t.Errorf("processor time %v, %v", used, err)
	}
}

// The processes of the host have this one, with the parent that it has, and a child of it is its descendant.
func TestProcesses(t *testing.T) {
	child := exec.Command("sleep", "1000")
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = child.Process.Kill()
		_ = child.Wait()
	}()

	all, err := Processes()
	if err != nil || all[os.Getpid()].Parent != os.Getppid() {
		t.Fatalf("%+v, %v; want a process of %d", all[os.Getpid()], err, os.Getppid())
	}
	if below := Descendants(all, os.Getpid()); !slices.Contains(below, child.Process.Pid) || slices.Contains(below, os.Getppid()) {
		t.Errorf("descendants %v; want %d among them and not %d", below, child.Process.Pid, os.Getppid())
	}

	all = map[int]Stat{1: {}, 7: {Parent: 1}, 8: {Parent: 7}, 9: {Parent: 8}, 10: {Parent: 1}}
	if got := Descendants(all, 7); !slices.Equal(got, []int{8, 9}) {
		t.Errorf("descendants of 7: %v; want 8 and 9", got)
	}
}
