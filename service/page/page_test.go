package page

import (
	"compress/gzip"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/service/page/build/sources"
)

// The files that brig contains were made of the sources beside them. This compares hashes, without npm; `make test-page`
// makes the files again, and compares them.
func TestTheFilesAreOfTheseSources(t *testing.T) {
	want, err := sources.Sum(os.DirFS("web"))
	if err != nil {
		t.Fatal(err)
	}

	f, err := dist.Open("dist/sources.sum.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	if strings.TrimSpace(string(got)) != want {
		t.Error("service/page/web has changed since service/page/dist was made: run make page, and commit both")
	}
}
