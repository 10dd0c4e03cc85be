package problems

import (
	"testing"

	"github.com/brig-sandbox/brig/api"
)

// A stored package whose submissions read and write named files makes runs that name them.
func TestStoredProblemsNameFiles(t *testing.T) {
	stored := put(t, opened(t, t.TempDir()), "ann", "square", map[string]string{
		"task.yaml": "name: square\ntime_limit: 1\noutfile: square.out\n", "input/input0.txt": "3", "output/output0.txt": "9",
	})
	p, err := stored.Problem()
	if err != nil {
		t.Fatal(err)
	}

	r, err := p.Run(api.Run{Language: "python", Source: api.Bytes("x"),
		Files: []api.File{{Name: "input.txt", Content: api.Bytes("their own")}}}, "python", api.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Validate(); r.InputFile != "input.txt" || r.OutputFile != "square.out" || err != nil {
		t.Errorf("input in %q, output in %q, %v", r.InputFile, r.OutputFile, err)
	}
}
