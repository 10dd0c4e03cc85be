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

// ablated returns false, so that the compiler removes the guarded code. TestProductionHasEveryLayer
// checks that none of it is left.
func ablated(ablation) bool { return false }

func ablateSpec(s *oci.Spec) *oci.Spec { return s }

func cellinitArgs() []string { return []string{"/proc/self/fd/3"} }
