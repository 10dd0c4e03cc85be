//go:build !ablate

package runtime

import (
	_ "embed"

	oci "github.com/opencontainers/runtime-spec/specs-go"
)

// cellinitELF is PID 1 of every cell; `make` builds it from cellinit/.
//
//go:embed cellinit/cellinit.elf
var cellinitELF []byte

// CheckLayers returns nil: in this build no layer of isolation can be left out.
func CheckLayers() error { return nil }

// off is false: the compiler leaves out what would follow, and TestProductionHasEveryLayer
// looks for what might be left of it.
func off(ablation) bool { return false }

func ablateSpec(s *oci.Spec) *oci.Spec { return s }

func cellinitArgs() []string { return []string{"/proc/self/fd/3"} }
