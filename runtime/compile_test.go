package runtime

import (
	"bytes"
	"fmt"
	"reflect"
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
			Cell:  cellPlan{key: CellKey{ImageTree: ImageTree{Image: "sha256:1"}, Policy: "p"}},
		}
	}
	seen := map[string]string{ArtifactKey(base()): "the base"}
	for name, change := range map[string]func(p *Run){
		"image":             func(p *Run) { p.Cell.key.Image = "sha256:2" },
		"profile":           func(p *Run) { p.Cell.key.Policy = "q" },
		"proc":              func(p *Run) { p.Cell.key.FullProc = true },
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

func TestArtifactsReadBack(t *testing.T) {
	a := &artifacts{
		files: []api.File{{Name: "main", Content: []byte("\x7fELF\n\n{}"), Executable: true}, {Name: "d/empty", Content: []byte{}}, {Name: "last", Content: []byte("x")}},
		info:  api.Compilation{Key: "k", Stderr: []byte("line\nline\n"), Size: 9},
	}
	entry, err := encodeArtifacts(a)
	if err != nil {
		t.Fatal(err)
	}
	back, err := decodeArtifacts(entry)
	if err != nil || !reflect.DeepEqual(back.files, a.files) || !bytes.Equal(back.info.Stderr, a.info.Stderr) || back.info.Size != 9 {
		t.Errorf("%+v, %v", back, err)
	}
	files := withoutNames([]api.File{{Name: "main"}, {Name: "data"}}, a.files)
	if len(files) != 1 || files[0].Name != "data" {
		t.Errorf("inputs next to the artifacts: %v; want data", files)
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
		for _, file := range a.files {
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
