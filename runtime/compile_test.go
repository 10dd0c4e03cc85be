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
	base := func() *plan {
		return &plan{
			argv: []string{"cc", "a.c"}, env: []string{"A=1"}, artifacts: []string{"main"},
			files: []api.File{{Name: "a.c", Content: []byte("1")}, {Name: "b.h", Content: []byte("2")}},
			cell:  cellPlan{key: cellKey{imageTree: imageTree{image: "sha256:1"}, policy: "p"}},
		}
	}
	seen := map[string]string{artifactKey(base()): "the base"}
	for name, change := range map[string]func(p *plan){
		"image":             func(p *plan) { p.cell.key.image = "sha256:2" },
		"profile":           func(p *plan) { p.cell.key.policy = "q" },
		"proc":              func(p *plan) { p.cell.key.fullProc = true },
		"a flag":            func(p *plan) { p.argv = []string{"cc", "-O2", "a.c"} },
		"words split":       func(p *plan) { p.argv = []string{"cc a.c"} },
		"environment":       func(p *plan) { p.env = []string{"A=2"} },
		"an artifact":       func(p *plan) { p.artifacts = []string{"main", "lib"} },
		"a byte":            func(p *plan) { p.files[1].Content = []byte("3") },
		"a name":            func(p *plan) { p.files[1].Name = "c.h" },
		"a mode":            func(p *plan) { p.files[1].Executable = true },
		"a file more":       func(p *plan) { p.files = append(p.files, api.File{Name: "c.h"}) },
		"contents swapped":  func(p *plan) { p.files[0].Content, p.files[1].Content = p.files[1].Content, p.files[0].Content },
		"content for names": func(p *plan) { p.files = []api.File{{Name: "a.c1b.h", Content: []byte("2")}} },
	} {
		p := base()
		change(p)
		key := artifactKey(p)
		if other, taken := seen[key]; taken {
			t.Errorf("another %s has the key of %s", name, other)
		}
		seen[key] = name
	}
	same := base()
	slices.Reverse(same.files)
	same.limits, same.id, same.mode = api.Limits{Memory: 1}, "x", api.Fresh
	if artifactKey(same) != artifactKey(base()) {
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
