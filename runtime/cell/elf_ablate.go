//go:build ablate

package cell

import (
	_ "embed"
	"fmt"
	"slices"

	oci "github.com/opencontainers/runtime-spec/specs-go"

	"github.com/brig-sandbox/brig/runtime/ablate"
)

//go:embed cellinit/cellinit-ablate.elf
var cellinitELF []byte

// cellinitArgs tells cellinit which layers to leave out.
func cellinitArgs() []string { return []string{"/proc/self/fd/3", fmt.Sprint(ablate.Mask())} }

// ablateSpec removes the layers left out from a cell's configuration.
func ablateSpec(s *oci.Spec) *oci.Spec {
	drop := func(l ablate.Layer, kind oci.LinuxNamespaceType) {
		if ablate.Off(l) {
			s.Linux.Namespaces = slices.DeleteFunc(s.Linux.Namespaces, func(n oci.LinuxNamespace) bool { return n.Type == kind })
		}
	}

	drop(ablate.Network, oci.NetworkNamespace)
	drop(ablate.IPCNamespace, oci.IPCNamespace)
	drop(ablate.UTS, oci.UTSNamespace)
	if ablate.Off(ablate.UTS) {
		s.Hostname = ""
	}
	if ablate.Off(ablate.MaxNamespaces) {
		s.Linux.Sysctl = nil
	}
	if ablate.Off(ablate.Rlimits) {
		s.Process.Rlimits = nil
	}
	if ablate.Off(ablate.ReadOnly) {
		s.Root.Readonly = false
	}
	return s
}
