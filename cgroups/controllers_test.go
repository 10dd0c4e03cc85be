package cgroups

import (
	"slices"
	"testing"
)

// A leaf opens the files of which its controllers say that they write to them: a controller that
// plans a write to another file would fail at the first run.
func TestEveryWriteIsToAControl(t *testing.T) {
	maximum := Limits{MemoryBytes: 1 << 20, SwapBytes: 1 << 20, CPUs: 0.5, Weight: 7, Pids: 9, Cpuset: "0"}
	v1 := Hierarchy{Controllers: (&Host{Mode: V1}).needed()}
	v1.Controllers = append(v1.Controllers, "cpuset")

	for _, at := range []Layout{{Swap: true}, {Swap: true, Unified: true}} {
		files := controls(at, Hierarchy{Unified: true})
		if !at.Unified {
			files = append(files, controls(at, v1)...)
		}
		files = append(files, "cpu.shares", "cpu.weight") // of the cell
		for _, w := range append(Setup(at), Plan(at, Limits{}, maximum)...) {
			if !slices.Contains(files, w.File) {
				t.Errorf("unified %v: %s is written and not among %v", at.Unified, w.File, files)
			}
		}
	}
}
