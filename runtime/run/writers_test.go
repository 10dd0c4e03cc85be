package run

import (
	"os/exec"
	"testing"
	"time"
)

// What processes that an exec left may take is their own time: of processors, and asleep. The time in which they wait
// for a processor, and the time by which the agent looks late, are the machine's.
func TestLeftProcessesMayStay(t *testing.T) {
	type check struct {
		every  time.Duration // between two checks
		ran    time.Duration // processor time that they use between two
		asleep bool          // what is seen
	}

	for _, tt := range []struct {
		name  string
		check check
		want  time.Duration // when the exec returns
		idle  bool          // because they are asleep
	}{
		{"they have a processor", check{100 * time.Millisecond, 100 * time.Millisecond, false}, time.Second, false},
		{"they have two", check{100 * time.Millisecond, 200 * time.Millisecond, false}, 500 * time.Millisecond, false},
		{"they have a tenth of one", check{100 * time.Millisecond, 10 * time.Millisecond, false}, 10 * time.Second, false},
		{"they have hardly any", check{100 * time.Millisecond, 100 * time.Microsecond, false}, execWall, false},
		{"they have none yet", check{100 * time.Millisecond, 0, false}, execWall, false},
		{"they are asleep", check{100 * time.Millisecond, 0, true}, idleTime, true},
		{"they tick", check{100 * time.Millisecond, time.Millisecond, true}, time.Second, false},
		{"they tick, and the agent looks late", check{500 * time.Millisecond, time.Millisecond, true}, 5 * time.Second, false},
	} {
		l := &leftProcesses{}
		now, used := time.Duration(0), time.Duration(0)
		for !l.idle && !l.mayStay(now) && now < time.Hour {
			now += tt.check.every
			used += tt.check.ran
			l.ran(now, used)
			if l.look(now) {
				l.seen(now, tt.check.asleep)
			}
		}
		if now != tt.want || l.idle != tt.idle {
			t.Errorf("%s: after %s, idle %t; want %s, %t", tt.name, now, l.idle, tt.want, tt.idle)
		}
	}
}

// A process that ends while its threads are looked at is no failure of the run: /proc answers ENOENT or ESRCH then,
// as the moment is (TestHostileOutputFiles met ESRCH once in CI).
func TestProcessesThatEndWhileTheyAreLookedAt(t *testing.T) {
	for range 200 {
		cmd := exec.Command("/bin/true")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}

		ended := make(chan error, 1)
		go func() { ended <- cmd.Wait() }()
		for running := true; running; {
			if _, err := allAsleep([]int{cmd.Process.Pid}); err != nil {
				t.Error(err)
			}

			select {
			case err := <-ended:
				if err != nil {
					t.Fatal(err)
				}
				running = false
			default:
			}
		}
	}
}
