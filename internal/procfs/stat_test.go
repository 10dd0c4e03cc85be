package procfs

import (
	"os"
	"strings"
	"testing"
	"time"
)

func TestParseStat(t *testing.T) {
	const rest = " 41 7 7 0 -1 4194564 210 0 3 0 12 30 1 2 20 0 1 0 100 0 0 18446744073709551615"
	for name, state := range map[string]byte{"sh": 'S', "a) R 1 (b": 'D', "": 'Z', "new\nline": 'R'} {
		got, err := parseStat([]byte("42 (" + name + ") " + string(state) + rest))
		want := Stat{Name: name, State: state, Parent: 41, Flags: 0x400104, MinorFaults: 210, CPU: 420 * time.Millisecond}
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
