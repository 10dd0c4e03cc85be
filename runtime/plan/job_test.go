package plan

import (
	"testing"

	"github.com/brig-sandbox/brig/api"
)

func TestSourceIsPlacedUnderItsName(t *testing.T) {
	r := api.Run{Source: api.Bytes("x"), Files: []api.File{{Name: "a"}}}
	files, err := sourceFile(r, "main.py")
	if err != nil || len(files) != 2 || files[1].Name != "main.py" || len(r.Files) != 1 {
		t.Errorf("files %+v, %v", files, err)
	}
	if _, err := sourceFile(r, "a"); err == nil {
		t.Error("a file of the source's name was accepted")
	}
}
