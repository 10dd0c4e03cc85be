package plan

import (
	"slices"
	"testing"

	"github.com/brig-sandbox/brig/api"
)

// CMP-16: the key of artifacts depends on everything that decides what is made.
func TestArtifactKeyCoversEverything(t *testing.T) {
	base := func() *Run {
		return &Run{
			Argv: []string{"cc", "a.c"}, Env: []string{"A=1"}, Artifacts: []string{"main"},
			Files: []api.File{{Name: "a.c", Content: []byte("1")}, {Name: "b.h", Content: []byte("2")}},
			Cell:  Cell{Key: CellKey{ImageTree: ImageTree{Image: "sha256:1"}, Policy: "p"}},
		}
	}

	seen := map[string]string{ArtifactKey(base()): "the base"}
	for name, change := range map[string]func(p *Run){
		"image":             func(p *Run) { p.Cell.Key.Image = "sha256:2" },
		"profile":           func(p *Run) { p.Cell.Key.Policy = "q" },
		"proc":              func(p *Run) { p.Cell.Key.FullProc = true },
		"a flag":            func(p *Run) { p.Argv = []string{"cc", "-O2", "a.c"} },
		"words split":       func(p *Run) { p.Argv = []string{"cc a.c"} },
		"environment":       func(p *Run) { p.Env = []string{"A=2"} },
		"an artifact":       func(p *Run) { p.Artifacts = []string{"main", "lib"} },
		"a byte":            func(p *Run) { p.Files[1].Content = []byte("3") },
		"a name":            func(p *Run) { p.Files[1].Name = "c.h" },
		"a mode":            func(p *Run) { p.Files[1].Executable = true },
		"a file more":       func(p *Run) { p.Files = append(p.Files, api.File{Name: "c.h"}) },
		"contents swapped":  func(p *Run) { p.Files[0].Content, p.Files[1].Content = p.Files[1].Content, p.Files[0].Content },
		"content for names": func(p *Run) { p.Files = []api.File{{Name: "a.c1b.h", Content: []byte("2")}} },
	} {
		p := base()
		change(p)
		key := ArtifactKey(p)
		if other, taken := seen[key]; taken {
			t.Errorf("another %s has the key of %s", name, other)
		}
		seen[key] = name
	}

	same := base()
	slices.Reverse(same.Files)
	same.Limits, same.ID, same.Mode = api.Limits{Memory: 1}, "x", api.Fresh
	if ArtifactKey(same) != ArtifactKey(base()) {
		t.Error("what does not decide what is made changes the key")
	}
}

// The wall time of a compile stage is four times its processor time, whatever the ceiling of runs is: the load of the
// host is no fault of a source.
func TestCompileStagesAreBoundedByProcessorTime(t *testing.T) {
	const second = api.Duration(1e9)
	pl := allLanguages(t)
	pl.Ceiling = api.Limits{CPU: 20 * second, Wall: 25 * second}

	for _, tt := range []struct {
		name      string
		ask       api.Limits
		cpu, wall api.Duration // zero: it is refused
	}{
		{"nothing", api.Limits{}, 20 * second, 100 * second},
		{"a wall time", api.Limits{Wall: 5 * second}, 5 * second, 5 * second},
		{"a processor time", api.Limits{CPU: 5 * second}, 5 * second, 100 * second},
		{"a wall time above that of runs", api.Limits{Wall: 100 * second}, 20 * second, 100 * second},
		{"a wall time above the most", api.Limits{Wall: 101 * second}, 0, 0},
		{"a processor time above that of runs", api.Limits{CPU: 21 * second}, 0, 0},
	} {
		j, err := pl.Job(t.Context(), api.Run{Language: "cpp", Source: api.Bytes("x"), CompileLimits: tt.ask}, api.Caller{})
		if tt.cpu == 0 {
			if !api.HasCode(err, api.CodeAboveCeiling) {
				t.Errorf("%s: %v; want a refusal", tt.name, err)
			}
			continue
		}
		if err != nil {
			t.Fatal(tt.name, err)
		}
		if l := j.Compile.Limits; min(l.CPU, l.Wall) != tt.cpu || l.Wall != tt.wall {
			t.Errorf("%s: %s of processor time and %s of wall time; want %s and %s", tt.name, l.CPU, l.Wall, tt.cpu, tt.wall)
		}
	}
}
