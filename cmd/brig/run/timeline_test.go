package run

import (
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/api"
)

func TestTimelineText(t *testing.T) {
	limits := api.Limits{Memory: 64 * api.MiB, Pids: 64}
	for _, tt := range []struct {
		name string
		line api.Timeline
		want string
	}{
		{"a run that ended at once", api.Timeline{Every: 20e6, Memory: []int64{}, CPU: []int64{}, Pids: []int64{}},
			"brig: timeline  no points: the program ended within 20ms\n"},
		{"one point", api.Timeline{Every: 20e6, Memory: []int64{1 << 20}, CPU: []int64{20e6}, Pids: []int64{1}},
			"brig: timeline  1 point, every 20ms\n" +
				"brig:   memory  █ at most 1M of 64M\n" +
				"brig:   cpu     █ at most 1.00 processors, 20ms in total\n" +
				"brig:   pids    █ at most 1 of 64\n"},
		{"steps", api.Timeline{Every: 10e6, Memory: []int64{1 << 20, 2 << 20, 4 << 20, 8 << 20}, CPU: []int64{10e6, 15e6, 15e6, 15e6},
			Pids: []int64{0, 1, 7, 7}},
			"brig: timeline  4 points, one every 10ms\n" +
				"brig:   memory  ▂▃▅█ at most 8M of 64M\n" +
				"brig:   cpu     █▅▁▁ at most 1.00 processors, 15ms in total\n" +
				"brig:   pids    ▁▂██ at most 7 of 64\n"},
	} {
		if got := timelineText(api.Result{Limits: limits, Timeline: &tt.line}); got != tt.want {
			t.Errorf("%s:\n%s\nwant\n%s", tt.name, got, tt.want)
		}
	}
}

// A curve of many points has the width of a line. It shows the peak of memory in a column, and the
// mean of the processor time.
func TestTimelineTextOfManyPoints(t *testing.T) {
	l := api.Timeline{Every: 5e6, Memory: make([]int64, 999), CPU: make([]int64, 999), Pids: make([]int64, 999)}
	l.Memory[500] = 5 << 20
	for i := range l.CPU {
		l.CPU[i] = int64(i+1) / 2 * 5e6 // in every second point
	}

	got := strings.Split(timelineText(api.Result{Timeline: &l}), "\n")
	if bars := strings.Fields(got[1])[2]; len([]rune(bars)) != timelineWidth || strings.Count(bars, "█") != 1 ||
		strings.Count(bars, "▁") != timelineWidth-1 {
		t.Errorf("memory %s; want %d columns with one peak", bars, timelineWidth)
	}
	if bars := strings.Fields(got[2])[2]; strings.Trim(bars, "▇█") != "" || !strings.Contains(got[2], "at most 0.5") {
		t.Errorf("%s; want a level curve of half a processor", got[2])
	}
	if bars := strings.Fields(got[3])[2]; strings.Trim(bars, "▁") != "" {
		t.Errorf("pids %s; want the lowest bars for nothing", bars)
	}
}
