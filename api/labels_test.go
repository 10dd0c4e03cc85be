package api_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/api"
)

func TestLabels(t *testing.T) {
	long := strings.Repeat("x", api.MaxLabel)
	for _, tt := range []struct {
		labels api.Labels
		want   string // in the error; empty: none
	}{
		{api.Labels{}, ""},
		{api.Labels{Project: long, Task: long, Run: long}, ""},
		{api.Labels{Run: "12345_7"}, ""},
		{api.Labels{Project: long + "x"}, "labels.project has 257 bytes, and the maximum is 256"},
		{api.Labels{Task: long + "x"}, "labels.task has 257 bytes"},
		{api.Labels{Run: long + "x"}, "labels.run has 257 bytes"},
		{api.Labels{Run: "\xff"}, "labels.run has bytes that are not UTF-8"},
	} {
		for name, err := range map[string]error{
			"labels":  tt.labels.Validate(),
			"run":     api.Run{Image: "tiny", Argv: []string{"a"}, Labels: tt.labels}.Validate(),
			"session": api.SessionRequest{Image: "tiny", Labels: tt.labels}.Validate(),
			"end":     api.EndRequest{Project: tt.labels.Project, Run: tt.labels.Run}.Validate(),
		} {
			want := tt.want
			if name == "end" && (tt.labels.Run == "" && tt.labels.Project == "") {
				want = "run is empty"
			} else if name == "end" && tt.labels.Run == "" {
				want = "run is empty"
			}
			if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
				t.Errorf("%s with %.40q: %v; want %q", name, tt.labels, err, want)
			}
		}
	}
}

func TestEndRequest(t *testing.T) {
	for _, tt := range []struct {
		e    api.EndRequest
		l    api.Labels
		want bool
	}{
		{api.EndRequest{Run: "x"}, api.Labels{Run: "x"}, true},
		{api.EndRequest{Run: "x"}, api.Labels{Run: "x", Project: "p", Task: "t"}, true},
		{api.EndRequest{Run: "x", Project: "p"}, api.Labels{Run: "x", Project: "p"}, true},
		{api.EndRequest{Run: "x", Project: "p"}, api.Labels{Run: "x"}, false},
		{api.EndRequest{Run: "x", Project: "p"}, api.Labels{Run: "x", Project: "q"}, false},
		{api.EndRequest{Run: "x"}, api.Labels{Run: "xy"}, false},
		{api.EndRequest{Run: "x"}, api.Labels{Project: "x"}, false},
		{api.EndRequest{}, api.Labels{}, false},
		{api.EndRequest{Project: "p"}, api.Labels{Project: "p"}, false},
	} {
		if got := tt.e.Has(tt.l); got != tt.want {
			t.Errorf("%+v has %+v: %v", tt.e, tt.l, got)
		}
		if got := tt.e.HasVolume(api.Volume{Name: tt.l.Project, Run: tt.l.Run}); got != tt.want {
			t.Errorf("%+v has a volume of %+v: %v", tt.e, tt.l, got)
		}
	}

	for _, tt := range []struct {
		s    api.SessionRequest
		want string
	}{
		{api.SessionRequest{Volume: &api.VolumeRequest{Name: "v", Temporary: true}, Labels: api.Labels{Run: "x"}}, "x"},
		{api.SessionRequest{Volume: &api.VolumeRequest{Name: "v"}, Labels: api.Labels{Run: "x"}}, ""},
		{api.SessionRequest{Labels: api.Labels{Run: "x"}}, ""},
	} {
		tt.s.Image = "tiny"
		if got := tt.s.VolumeRun(); got != tt.want || tt.s.Validate() != nil {
			t.Errorf("%+v: %q, %v", tt.s, got, tt.s.Validate())
		}
	}
	bad := api.SessionRequest{Image: "tiny", Volume: &api.VolumeRequest{Name: "v", Temporary: true}}
	if err := bad.Validate(); err == nil || !strings.Contains(err.Error(), "set labels.run") {
		t.Errorf("a temporary volume of no run: %v", err)
	}
}

// A struct that has a project and a task has a run next to them: a place that forgets it would leave what it
// describes behind when the run is ended.
func TestNoPlaceForgetsTheRun(t *testing.T) {
	found := 0
	err := fs.WalkDir(os.DirFS(".."), ".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "testdata" || d.Name() == "judge" || strings.HasPrefix(d.Name(), ".") && path != "."):
			return fs.SkipDir
		case d.IsDir() || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go"):
			return nil
		}

		file, err := parser.ParseFile(token.NewFileSet(), filepath.Join("..", path), nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}

		ast.Inspect(file, func(n ast.Node) bool {
			s, is := n.(*ast.StructType)
			if !is {
				return true
			}
			has := map[string]bool{}
			for _, f := range s.Fields.List {
				for _, name := range f.Names {
					has[name.Name] = true
				}
			}
			if has["Project"] && has["Task"] {
				found++
				if !has["Run"] {
					t.Errorf("%s: a struct has Project and Task, and no Run", path)
				}
			}
			return true
		})

		return nil
	})
	if err != nil || found < 5 { // Labels, Execute, Record, and the two filters
		t.Errorf("%d structs have them, %v", found, err)
	}
}
