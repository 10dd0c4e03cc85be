package history

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// The environment of the child: the file, and a number that its ids begin with.
const (
	childEnv = "BRIG_HISTORY_CHILD"
	roundEnv = "BRIG_HISTORY_ROUND"
)

// child adds runs from eight goroutines until it is killed, and prints the acknowledged ones.
func child(path string) int {
	s, err := Open(context.Background(), path, RetentionLimits{})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}

	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := 0; ; i++ {
				r := record(fmt.Sprintf("%s-%d-%d", os.Getenv(roundEnv), g, i))
				r.Stdout = []byte(strings.Repeat(r.ID, i%1000))
				if err := s.Add(context.Background(), r); err != nil {
					fmt.Fprintln(os.Stderr, err)
					return
				}
				os.Stdout.WriteString(r.ID + " " + strconv.Itoa(i%1000) + "\n") // one write each, so lines stay whole
			}
		})
	}

	wg.Wait()
	return 1
}

func TestKilledProcessKeepsAcknowledgedRecords(t *testing.T) {
	path := filepath.Join(t.TempDir(), "history.db")
	acknowledged := map[string]int{} // by id: how often it is in the output
	for round := range 4 {
		c := exec.CommandContext(t.Context(), os.Args[0])
		c.Env = append(os.Environ(), childEnv+"="+path, roundEnv+"="+strconv.Itoa(round))
		var errs strings.Builder
		c.Stderr = &errs
		out, err := c.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}

		lines := bufio.NewScanner(out)
		n := 0
		for lines.Scan() {
			id, times, _ := strings.Cut(lines.Text(), " ")
			if acknowledged[id], err = strconv.Atoi(times); err != nil {
				t.Fatal(err)
			}
			if n++; n == 300*(round+1) {
				if err := c.Process.Kill(); err != nil {
					t.Fatal(err)
				}
			}
		}

		if err := c.Wait(); n < 300*(round+1) || err == nil || err.Error() != "signal: killed" {
			t.Fatalf("the child said %d lines and ended: %v\n%s", n, err, &errs)
		}
	}

	s := open(t, path, RetentionLimits{})
	for id, times := range acknowledged {
		r, err := s.Get(t.Context(), Scope{}, id)
		if err != nil {
			t.Errorf("acknowledged and gone: %v", err)
		} else if want := strings.Repeat(id, times); string(r.Stdout) != want {
			t.Errorf("run %s: %d bytes of output; want %d", id, len(r.Stdout), len(want))
		}
	}

	var said string
	if err := s.reads.QueryRow("PRAGMA integrity_check").Scan(&said); err != nil || said != "ok" {
		t.Errorf("the file after four kills: %s, %v", said, err)
	}

	t.Logf("%d runs were acknowledged", len(acknowledged))
}
