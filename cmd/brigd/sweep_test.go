package main

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/brig-sandbox/brig/internal/testenv"
)

// A running agent removes within the hour what killed agents leave, and logs which. It logs again
// every hour what it cannot remove.
func TestSweepHourly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		run := t.TempDir()
		leave := func(id, groups string) {
			dir := filepath.Join(run, id)
			if err := os.Mkdir(dir, 0o711); err != nil {
				t.Fatal(err)
			}
			for name, text := range map[string]string{"lock": "", "groups": groups} {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
		}

		left := func(id string) bool {
			_, err := os.Lstat(filepath.Join(run, id))
			return err == nil
		}
		var ended sync.WaitGroup
		defer ended.Wait()

		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()

		var log testenv.Log
		ended.Go(func() { sweepHourly(ctx, run, slog.New(slog.NewTextHandler(&log, nil))) })
		synctest.Wait()
		leave("damaged0", "/etc\n")

		for i, id := range []string{"01234567", "89abcdef"} {
			leave(id, "/sys/fs/cgroup/none/brig-0\n")
			time.Sleep(59 * time.Minute)
			if synctest.Wait(); i == 0 && !left(id) {
				t.Error("it looks more often than each hour")
			}

			time.Sleep(2 * time.Minute)
			synctest.Wait()
			text := log.String()
			if left(id) || !strings.Contains(text, "instance="+id) {
				t.Errorf("after %d hours %s is there: %t\n%s", i+1, id, left(id), text)
			}
			if n := strings.Count(text, "level=ERROR"); n != i+1 || !strings.Contains(text, "/etc") || !left("damaged0") {
				t.Errorf("after %d hours it has said %d times what it cannot take away\n%s", i+1, n, text)
			}
		}
	})
}
