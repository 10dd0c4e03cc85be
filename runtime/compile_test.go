package runtime

import (
	"bytes"
	"fmt"
	"reflect"
	"slices"
	"testing"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/rootfs"
)

func TestWordsOfACommand(t *testing.T) {
	w := words{source: "pkg/Main.java", sources: []string{"pkg/Main.java", "-o.java", "@rsp.java", "a b.java"}, flags: []string{"-g", "-O2"}, memory: 512 * api.MiB}
	for _, c := range []struct {
		command, args, want []string
	}{
		{[]string{"javac", "{flags}", "-d", "classes", "{sources}"}, nil,
			[]string{"javac", "-g", "-O2", "-d", "classes", "pkg/Main.java", "./-o.java", "./@rsp.java", "a b.java"}},
		{[]string{"java", "-Xmx{heap_mib}m", "-XX:X={memory_mib}", "{stem}"}, []string{"{source}", "-x"},
			[]string{"java", "-Xmx464m", "-XX:X=512", "pkg/Main", "{source}", "-x"}},
		{[]string{"x", "{source}"}, nil, []string{"x", "pkg/Main.java"}},
	} {
		if got := w.expand(c.command, c.args); !slices.Equal(got, c.want) {
			t.Errorf("%q: %q; want %q", c.command, got, c.want)
		}
	}
	if got := (words{source: "-c.py"}).expand([]string{"python3", "{source}"}, nil); got[1] != "./-c.py" {
		t.Errorf("a source called -c.py is given as %q", got[1])
	}
	for limit, want := range map[api.Size]api.Size{4 * api.MiB: 2 * api.MiB, 64 * api.MiB: 32 * api.MiB, 128 * api.MiB: 80 * api.MiB, api.GiB: 960 * api.MiB} {
		if got := heap(limit); got != want {
			t.Errorf("heap under %s is %s; want %s", limit, got, want)
		}
	}
}

func TestSourcesAndFlags(t *testing.T) {
	l := rootfs.Language{Name: "cpp", Extensions: []string{"cpp", "cc"}, Flags: []string{"-O2", "-O3"}, DefaultFlags: []string{"-O2"}}
	files := []api.File{{Name: "b.CC"}, {Name: "x.h"}, {Name: "main.cpp"}, {Name: "cpp"}, {Name: "d/a.cpp"}, {Name: ".cpp"}}
	if got := sources(l, files, "main.cpp"); !slices.Equal(got, []string{"main.cpp", "b.CC", "d/a.cpp", ".cpp"}) {
		t.Errorf("sources %q", got)
	}
	for _, c := range []struct {
		asked, want []string
	}{
		{nil, []string{"-O2"}},
		{[]string{"-O3", "-O3"}, []string{"-O3", "-O3"}},
		{[]string{"-O3", "-fplugin=x"}, nil}, // CMP-11
		{[]string{"-O2 -O3"}, nil},
		{[]string{""}, nil},
	} {
		if got, err := chosenFlags(l, c.asked); !slices.Equal(got, c.want) || (err == nil) != (c.want != nil) {
			t.Errorf("flags %q: %q, %v; want %q", c.asked, got, err, c.want)
		}
	}
}

// CMP-16: all that decides what is made is in its name.
func TestArtifactKeyHoldsEverything(t *testing.T) {
	base := func() *plan {
		return &plan{
			argv: []string{"cc", "a.c"}, env: []string{"A=1"}, artifacts: []string{"main"},
			files: []api.File{{Name: "a.c", Content: []byte("1")}, {Name: "b.h", Content: []byte("2")}},
			cell:  cellPlan{key: cellKey{image: "sha256:1", policy: "p"}},
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
	files := withArtifacts([]api.File{{Name: "main"}, {Name: "data"}}, a.files)
	var names []string
	for _, f := range files {
		names = append(names, f.Name)
	}
	if want := []string{"data", "main", "d/empty", "last"}; !slices.Equal(names, want) {
		t.Errorf("files of the run %q; want %q", names, want)
	}
}

// An entry is held against its hash before it is read; still, no bytes may harm.
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
