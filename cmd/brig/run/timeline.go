package run

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/brig-sandbox/brig/api"
)

// timelineFlag is --timeline, with or without a time between two points.
type timelineFlag struct{ want **api.TimelineRequest }

func (t timelineFlag) Set(text string) error {
	every, err := api.ParseDuration(text)
	*t.want = &api.TimelineRequest{Every: every}
	return err
}

func (t timelineFlag) String() string {
	if t.want == nil || *t.want == nil {
		return ""
	}
	return (*t.want).Every.String()
}

func (t timelineFlag) Type() string { return "duration" }

// registerTimeline adds the flag.
func (o *runOptions) registerTimeline(f *pflag.FlagSet) {
	f.Var(timelineFlag{&o.run.Timeline}, "timeline",
		"show memory, processor time and processes over time, and add them to --json and --result; `EVERY` is the time between two points")
	f.Lookup("timeline").NoOptDefVal = api.TimelineEvery.String()
}

// checkTimeline refuses a timeline that nobody would see.
func (o *runOptions) checkTimeline() error {
	if o.run.Timeline != nil && o.quiet && !o.json && o.result == "" {
		return fmt.Errorf("--quiet prints no timeline: leave one of the two out, or add --json or --result FILE")
	}
	return nil
}

// timelineWidth is the most columns of a curve.
const timelineWidth = 60

// timelineText draws the curves of a timeline, one a line, each on a scale from zero to its largest
// column.
func timelineText(r api.Result) string {
	t := r.Timeline
	var b strings.Builder
	line := func(name, value string) { fmt.Fprintf(&b, "brig: %-9s %s\n", name, value) }
	every := time.Duration(t.Every)
	if len(t.Memory) == 0 {
		line("timeline", fmt.Sprintf("no points: the program ended within %s", every))
		return b.String()
	}

	points := "points, one"
	if len(t.Memory) == 1 {
		points = "point,"
	}

	line("timeline", fmt.Sprintf("%d %s every %s", len(t.Memory), points, every))
	processors := columns(t.CPU, func(before int64, part []int64) float64 {
		return float64(part[len(part)-1]-before) / float64(int64(len(part))*t.Every)
	})
	largest := func(_ int64, part []int64) float64 { return float64(slices.Max(part)) }
	line("  memory", fmt.Sprintf("%s at most %s of %s", sparkline(columns(t.Memory, largest)),
		api.Size(slices.Max(t.Memory)).About(), r.Limits.Memory))
	line("  cpu", fmt.Sprintf("%s at most %.2f processors, %s in total", sparkline(processors), slices.Max(processors),
		time.Duration(t.CPU[len(t.CPU)-1]).Round(10*time.Microsecond)))
	line("  pids", fmt.Sprintf("%s at most %d of %d", sparkline(columns(t.Pids, largest)),
		slices.Max(t.Pids), r.Limits.Pids))
	return b.String()
}

// columns divides the points among at most timelineWidth columns. of returns the value of a column
// from its points and the point before them, which is zero for the first column.
func columns(points []int64, of func(before int64, part []int64) float64) []float64 {
	out := make([]float64, min(len(points), timelineWidth))
	for c := range out {
		from, to := c*len(points)/len(out), (c+1)*len(points)/len(out)
		before := int64(0)
		if from > 0 {
			before = points[from-1]
		}
		out[c] = of(before, points[from:to])
	}
	return out
}

// sparkline draws each value as a bar.
func sparkline(values []float64) string {
	bars := []rune("▁▂▃▄▅▆▇█")
	maximum := slices.Max(values)
	var b strings.Builder
	for _, v := range values {
		bar := 0
		if maximum > 0 {
			bar = int(max(v, 0)/maximum*float64(len(bars)-1) + 0.5)
		}
		b.WriteRune(bars[bar])
	}
	return b.String()
}
