package run

import (
	"errors"
	"time"

	"github.com/brig-sandbox/brig/api"
	groups "github.com/brig-sandbox/brig/cgroups"
	"github.com/brig-sandbox/brig/runtime/linux"
)

// A timeline collects what a run uses at intervals. It reads no clock and no file.
type timeline struct{ api.Timeline }

// newTimeline returns a timeline without points.
func newTimeline(every time.Duration) timeline {
	list := make([]int64, 3*api.TimelinePoints) // one allocation, as large as it is accounted for
	part := func(i int) []int64 {
		return list[i*api.TimelinePoints : i*api.TimelinePoints : (i+1)*api.TimelinePoints]
	}
	return timeline{api.Timeline{Every: int64(every), Memory: part(0), CPU: part(1), Pids: part(2)}}
}

// next is when the next point is due, as the time since the start.
func (t *timeline) next() time.Duration { return time.Duration(int64(len(t.Memory)+1) * t.Every) }

// add adds the point that was read at this time since the start. A point that the agent missed
// repeats the one before it. A reading that comes too early adds nothing.
func (t *timeline) add(at time.Duration, s groups.Sample) {
	for due := t.points(at); due > len(t.Memory); due = t.points(at) {
		point := s
		if due > len(t.Memory)+1 {
			point = t.last(s)
		}
		t.append(point)
		if len(t.Memory) == api.TimelinePoints {
			t.halve()
		}
	}
}

// points is how many points there should be at this time since the start.
func (t *timeline) points(at time.Duration) int { return int(int64(at) / t.Every) }

// last returns the last point, or first if there is none.
func (t *timeline) last(first groups.Sample) groups.Sample {
	n := len(t.Memory)
	if n == 0 {
		return first
	}
	return groups.Sample{Memory: t.Memory[n-1], CPU: time.Duration(t.CPU[n-1]), Processes: t.Pids[n-1]}
}

func (t *timeline) append(s groups.Sample) {
	t.Memory = append(t.Memory, s.Memory)
	t.CPU = append(t.CPU, int64(s.CPU))
	t.Pids = append(t.Pids, s.Processes)
}

// halve makes one point of each two.
func (t *timeline) halve() {
	n := len(t.Memory) / 2
	for i := range n {
		t.Memory[i] = max(t.Memory[2*i], t.Memory[2*i+1])
		t.CPU[i] = t.CPU[2*i+1]
		t.Pids[i] = max(t.Pids[2*i], t.Pids[2*i+1])
	}
	t.Memory, t.CPU, t.Pids = t.Memory[:n], t.CPU[:n], t.Pids[:n]
	t.Every *= 2
}

// A timelineTimer wakes the supervisor for each point of a timeline. Only a run with a timeline has
// one.
type timelineTimer struct {
	timeline
	timer linux.Timer
}

// newTimelineTimer makes the timer and adds it to the poller.
func newTimelineTimer(p *linux.Poller, every time.Duration) (*timelineTimer, error) {
	timer, err := linux.NewTimer()
	if err != nil {
		return nil, err
	}
	if err := p.Add(timer.File, linux.PollIn, tagTimeline); err != nil {
		return nil, errors.Join(err, timer.File.Close())
	}
	return &timelineTimer{newTimeline(every), timer}, nil
}

// close removes the timer from the poller: the slot's next run must get no event of it.
func (t *timelineTimer) close(p *linux.Poller) error {
	return errors.Join(p.Remove(t.timer.File), t.timer.File.Close())
}

// result returns the points, in memory of their size; nil: the caller wants no timeline.
func (t *timelineTimer) result() *api.Timeline {
	if t == nil {
		return nil
	}
	exact := func(list []int64) []int64 { return append(make([]int64, 0, len(list)), list...) }
	return &api.Timeline{Every: t.Every, Memory: exact(t.Memory), CPU: exact(t.CPU), Pids: exact(t.Pids)}
}

// armTimeline sets the time of the next point, if there is a timeline.
func (w *supervisor) armTimeline() error {
	if w.timeline == nil {
		return nil
	}
	return w.timeline.timer.Set(w.started + w.timeline.next())
}

// onTimeline adds a point. After the agent has ended the run there are no more.
func (w *supervisor) onTimeline() error {
	w.timeline.timer.Drain()
	if w.stopped {
		return nil
	}
	s, err := w.Shell.Leaf.Sample()
	if err != nil {
		return err
	}
	s.Memory += int64(w.placed)
	w.timeline.add(linux.Monotonic()-w.started, s)
	return w.armTimeline()
}
