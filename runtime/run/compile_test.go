package run

import (
	"bytes"
	"fmt"
	"io"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/runtime/outputs"
)

func TestArtifactsReadBack(t *testing.T) {
	a := &artifacts{
		Files: []api.File{{Name: "main", Content: []byte("\x7fELF\n\n{}"), Executable: true}, {Name: "d/empty", Content: []byte{}},
			{Name: "last", Content: []byte("x")}},
		Info: api.Compilation{Key: "k", Stderr: []byte("line\nline\n"), Size: 9},
	}

	entry, err := encodeArtifacts(a)
	if err != nil {
		t.Fatal(err)
	}

	text, err := io.ReadAll(entry)
	if err != nil {
		t.Fatal(err)
	}

	back, err := decodeArtifacts(text)
	if err != nil || !reflect.DeepEqual(back.Files, a.Files) || !bytes.Equal(back.Info.Stderr, a.Info.Stderr) || back.Info.Size != 9 {
		t.Errorf("%+v, %v", back, err)
	}

	files := withoutNames([]api.File{{Name: "main"}, {Name: "data"}}, a.Files)
	if len(files) != 1 || files[0].Name != "data" {
		t.Errorf("inputs next to the artifacts: %v; want data", files)
	}
}

// An artifact that was not looked for is not one that was not made.
func TestArtifactsOfAnIncompleteScan(t *testing.T) {
	left := api.Result{Skipped: []api.Skipped{outputs.Uncollected("scanning /box took too long")}}
	if none := missingArtifacts([]string{"prog"}, left); len(none) > 0 {
		t.Errorf("reported as not made: %v", none)
	}
	if none := missingArtifacts([]string{"prog"}, api.Result{}); len(none) != 1 {
		t.Errorf("after a complete scan: %v; want one", none)
	}
}

// An entry's hash is checked before it is decoded; still, no bytes may do harm.
func FuzzDecodeArtifacts(f *testing.F) {
	for _, size := range []int{-1, 0, 3, 1 << 40} {
		f.Add(fmt.Appendf(nil, `{"Files":[{"Name":"a","Size":%d}]}`+"\nabc", size))
	}

	f.Add([]byte(`{"Files":[{"Name":"../a","Size":1}]}` + "\nabc"))
	f.Fuzz(func(t *testing.T, entry []byte) {
		a, err := decodeArtifacts(entry)
		if err != nil {
			return
		}

		total := 0
		for _, file := range a.Files {
			total += len(file.Content)
			if api.FileName(file.Name) != nil {
				t.Errorf("a file is called %q", file.Name)
			}
		}

		if total > len(entry) {
			t.Errorf("%d bytes out of %d", total, len(entry))
		}
	})
}

// What was compiled with larger limits is taken for a job only if that job could have compiled it.
func TestCouldMake(t *testing.T) {
	const second = api.Duration(time.Second)
	made := api.Limits{CPU: 28 * second, Wall: 29 * second, Memory: api.GiB, Pids: 100, Output: api.MiB, Scratch: 64 * api.MiB,
		Inodes: 1000, OpenFiles: 256}
	info := api.Compilation{Limits: made, Timing: api.Timing{Wall: int64(4 * second)}, Usage: api.Usage{
		CPU: api.Known(int64(3*second), ""), Memory: api.Known(int64(200*api.MiB), ""), Pids: api.Known(4, ""), StderrBytes: 1000,
	}}
	for name, tt := range map[string]struct {
		change func(l *api.Limits)
		want   bool
	}{
		"the same":                     {func(*api.Limits) {}, true},
		"more of all":                  {func(l *api.Limits) { l.CPU, l.Memory, l.Scratch = 2*l.CPU, 2*l.Memory, 2*l.Scratch }, true},
		"less than it used: cpu":       {func(l *api.Limits) { l.CPU = 700 * second / 1000 }, false},
		"less, but more than it used":  {func(l *api.Limits) { l.CPU, l.Wall, l.Memory, l.Pids = 3*second, 5*second, 256*api.MiB, 4 }, true},
		"cpu is that of wall":          {func(l *api.Limits) { l.CPU, l.Wall = 0, 2*second }, false},
		"less than it used: wall":      {func(l *api.Limits) { l.Wall = 3 * second }, false},
		"less than it used: memory":    {func(l *api.Limits) { l.Memory = 64 * api.MiB }, false},
		"less than it used: processes": {func(l *api.Limits) { l.Pids = 3 }, false},
		"less than it used: output":    {func(l *api.Limits) { l.Output = 500 }, false},
		"less of what is not measured": {func(l *api.Limits) { l.Scratch = 63 * api.MiB }, false},
	} {
		limits := made
		tt.change(&limits)
		if got := couldMake(limits, info); got != tt.want {
			t.Errorf("%s: %v", name, got)
		}
	}

	info.Usage.CPU = api.Measurement{Source: "unknown"}
	less := made
	less.CPU = 20 * second
	if couldMake(less, info) {
		t.Error("what it used is not known, and it is taken with less")
	}
}

// No limit that decides whether a compiler ends well is forgotten: less of any is not taken for more.
func TestCouldMakeKnowsEveryLimit(t *testing.T) {
	others := []string{"cpus", "weight", "cpuset", "swap"} // how fast it is; what bounds it with memory
	for _, row := range api.LimitTable() {
		made := api.Defaults().Resolve()
		set := reflect.ValueOf(row.Field(&made)).Elem()
		limits := made
		less := reflect.ValueOf(row.Field(&limits)).Elem()
		switch {
		case slices.Contains(others, row.Name):
			continue
		case set.IsZero():
			less.SetInt(1 << 40)
		default:
			less.SetInt(set.Int() - 1)
		}
		if couldMake(limits, api.Compilation{Limits: made, Timing: api.Timing{Wall: 1 << 60}, Usage: api.Usage{StdoutBytes: 1 << 60}}) {
			t.Errorf("less of %s is taken for more", row.Name)
		}
		if !couldMake(made, api.Compilation{Limits: limits}) {
			t.Errorf("more of %s is not taken for less", row.Name)
		}
	}
}
