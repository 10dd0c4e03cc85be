package api

import "time"

// A TimelineRequest asks for a timeline of a run.
type TimelineRequest struct {
	Every Duration `json:"every,omitempty" doc:"time between two points, from 5ms to 1m; zero means 20ms; it is doubled when the timeline has 1,000 points"`
}

// The bounds of a timeline.
const (
	TimelineEvery    = Duration(20 * time.Millisecond) // if the request does not say
	TimelineEveryMin = Duration(5 * time.Millisecond)
	TimelineEveryMax = Duration(time.Minute)

	TimelinePoints = 1000 // the most; then each two become one
)

// A Timeline is what a run used over time. Point i, from 0, describes the interval that ends
// (i+1)*every_ns after the start. All lists have the same length, which is 0 for a run shorter than
// one interval.
type Timeline struct {
	Every  int64   `json:"every_ns" doc:"nanoseconds between two points; the first one is so long after the start"`
	Memory []int64 `json:"memory" doc:"bytes charged to the run at each point; where two points became one, the larger"`
	CPU    []int64 `json:"cpu_ns" doc:"nanoseconds of processor time from the start to each point"`
	Pids   []int64 `json:"pids" doc:"processes and threads at each point; where two points became one, the larger"`
}

// MaxBytes is the most memory that the timeline takes: its lists, and their copy in the result. Nil,
// no timeline, takes none.
func (t *TimelineRequest) MaxBytes() int64 {
	if t == nil {
		return 0
	}
	return 2 * 3 * 8 * TimelinePoints
}

// Interval is the time between two points of a new timeline.
func (t TimelineRequest) Interval() time.Duration {
	if t.Every == 0 {
		return time.Duration(TimelineEvery)
	}
	return time.Duration(t.Every)
}

func (t *TimelineRequest) validate() error {
	if t == nil || t.Every == 0 || TimelineEveryMin <= t.Every && t.Every <= TimelineEveryMax {
		return nil
	}
	return Refuse(CodeBadRequest, "timeline.every is %s: must be between %s and 1m", t.Every, TimelineEveryMin)
}

// bytes is the memory that the timeline takes.
func (t *Timeline) bytes() int {
	if t == nil {
		return 0
	}
	return 8 * (len(t.Memory) + len(t.CPU) + len(t.Pids))
}
