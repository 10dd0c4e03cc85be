package run

import (
	"bytes"
	"fmt"
	"io"
	"reflect"
	"testing"

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
