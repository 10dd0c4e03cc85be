package snapshot

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/runtime/linux"
)

// tenThousand makes 10,000 files in 10 directories.
func tenThousand(b *testing.B, dir string) {
	b.Helper()
	must(b, linux.WithRightsOf(program, program, func() error {
		for d := range 10 {
			at := filepath.Join(dir, "box", fmt.Sprint(d))
			if err := os.Mkdir(at, 0o755); err != nil {
				return err
			}
			for f := range 1000 {
				if err := os.WriteFile(filepath.Join(at, fmt.Sprint(f)), fmt.Appendf(nil, "%01000d", f), 0o644); err != nil {
					return err
				}
			}
		}
		return nil
	}))
}

// processor measures the processor time of a benchmark: on a machine with other work it says more than the clock.
type processor struct {
	b     *testing.B
	total time.Duration
	runs  int
}

func (p *processor) used() time.Duration {
	var u unix.Rusage
	must(p.b, unix.Getrusage(unix.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// of adds what do uses, and reports the mean so far.
func (p *processor) of(do func()) {
	before := p.used()
	do()
	p.total += p.used() - before
	p.runs++
	p.b.ReportMetric(float64(p.total.Milliseconds())/float64(p.runs), "cpu-ms/op")
}

func BenchmarkSnapshot(b *testing.B) {
	store := newStore(b)
	root, dir := newPlaces(b)
	tenThousand(b, dir)
	cost := processor{b: b}
	for b.Loop() {
		cost.of(func() {
			_, err := save(b, store, root, &Walk{}, "")
			must(b, err)
		})
	}
}

func BenchmarkFork(b *testing.B) {
	store := newStore(b)
	root, dir := newPlaces(b)
	tenThousand(b, dir)
	made, err := save(b, store, root, &Walk{}, "")
	must(b, err)
	other, otherDir := newPlaces(b)
	cost := processor{b: b}
	for b.Loop() {
		cost.of(func() { must(b, load(b, store, other, made.ID, false)) })
		b.StopTimer()
		var errs []error
		for d := range 10 {
			errs = append(errs, os.RemoveAll(filepath.Join(otherDir, "box", fmt.Sprint(d))))
		}
		must(b, errors.Join(errs...))
		b.StartTimer()
	}
}
