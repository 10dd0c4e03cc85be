package run

import (
	"slices"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/api"
	groups "github.com/brig-sandbox/brig/cgroups"
)

const ms = time.Millisecond

// sampleAt is a reading that says when it was made.
func sampleAt(at time.Duration) groups.Sample {
	return groups.Sample{Memory: int64(at / ms), CPU: at, Processes: 1}
}

func TestTimelineTakesOnePointAnInterval(t *testing.T) {
	l := newTimeline(20 * ms)
	for _, at := range []time.Duration{20 * ms, 41 * ms, 45 * ms, 60 * ms} { // 45 is early
		l.add(at, sampleAt(at))
	}
	if want := []int64{20, 41, 60}; !slices.Equal(l.Memory, want) {
		t.Errorf("points %v; want %v", l.Memory, want)
	}
	if l.next() != 80*ms {
		t.Errorf("the next is due at %v; want 80ms", l.next())
	}
}

// A late reading is the point of the interval that it ends; those missed before it repeat the last.
func TestTimelineRepeatsWhatWasMissed(t *testing.T) {
	l := newTimeline(20 * ms)
	for _, at := range []time.Duration{47 * ms, 130 * ms} {
		l.add(at, sampleAt(at))
	}
	if want := []int64{47, 47, 47, 47, 47, 130}; !slices.Equal(l.Memory, want) {
		t.Errorf("points %v; want %v", l.Memory, want)
	}
}

// A full timeline has half the points, with the larger of two values and the later processor time.
func TestTimelineIsHalvedWhenFull(t *testing.T) {
	l := newTimeline(5 * ms)
	for i := range api.TimelinePoints {
		at := time.Duration(i+1) * 5 * ms
		s := sampleAt(at)
		s.Processes = int64(i % 2) // the later of two has one more
		if i == 600 {
			s.Memory = 1 << 30 // the earlier of two
		}
		l.add(at, s)
	}

	const n = api.TimelinePoints / 2
	if len(l.Memory) != n || len(l.CPU) != n || len(l.Pids) != n || l.Every != int64(10*ms) {
		t.Fatalf("%d, %d and %d points, one every %d ns; want %d every 10 ms", len(l.Memory), len(l.CPU), len(l.Pids), l.Every, n)
	}

	for i := range n {
		end := time.Duration(i+1) * 10 * ms
		if l.CPU[i] != int64(end) || l.Pids[i] != 1 {
			t.Fatalf("point %d: cpu %d, pids %d; want %d and 1", i, l.CPU[i], l.Pids[i], end)
		}
	}

	if slices.Max(l.Memory) != 1<<30 || l.Memory[300] != 1<<30 {
		t.Error("the peak was lost")
	}
	if l.next() != (n+1)*10*ms {
		t.Errorf("the next is due at %v; want %v", l.next(), (n+1)*10*ms)
	}
}

// However long a run, and however late the agent: the lists stay in the memory that is reserved for
// them, and describe the whole run.
func TestTimelineStaysWithinItsMemory(t *testing.T) {
	for _, step := range []time.Duration{5 * ms, 7 * ms, time.Hour, 300 * time.Hour} {
		l := newTimeline(5 * ms)
		var at time.Duration
		for range 5000 {
			at += step
			l.add(at, sampleAt(at))
		}

		for _, list := range [][]int64{l.Memory, l.CPU, l.Pids} {
			if len(list) >= api.TimelinePoints || cap(list) > api.TimelinePoints || len(list) != len(l.Memory) {
				t.Fatalf("step %v: %d points in memory for %d", step, len(list), cap(list))
			}
		}

		if covered := time.Duration(int64(len(l.Memory)) * l.Every); covered > at || at-covered > time.Duration(l.Every) {
			t.Errorf("step %v: %v of %v are covered, one point every %d ns", step, covered, at, l.Every)
		}
		if !slices.IsSorted(l.CPU) {
			t.Errorf("step %v: processor time decreases", step)
		}
	}
}

// A run that ended before its first point has a timeline without points; one that asked for none
// has none.
func TestTimelineOfAShortRun(t *testing.T) {
	short := &timelineTimer{timeline: newTimeline(20 * ms)}
	got := short.result()
	if got == nil || got.Memory == nil || len(got.Memory)+len(got.CPU)+len(got.Pids) != 0 || got.Every != int64(20*ms) {
		t.Errorf("%+v; want empty lists", got)
	}
	if got := (*timelineTimer)(nil).result(); got != nil {
		t.Errorf("%+v; want none", got)
	}

	full := newTimeline(5 * ms)
	full.add(3*5*ms, sampleAt(15*ms))
	if got := (&timelineTimer{timeline: full}).result(); cap(got.Memory) != 3 {
		t.Errorf("memory for %d points is retained for 3", cap(got.Memory))
	}
}
