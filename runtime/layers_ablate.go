//go:build ablate

package runtime

import (
	_ "embed"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	oci "github.com/opencontainers/runtime-spec/specs-go"
)

//go:embed cellinit/cellinit-ablate.elf
var cellinitELF []byte

// layerNames are the values of BRIG_WITHOUT, in the order of the bits.
var layerNames = []string{
	"bounding-set", "no-new-privs", "dumpable", "keyrings", "close-range", "uid", "proc-subset", "proc-hidepid",
	"proc-readonly", "pid-namespace", "ipc-namespace", "cgroup-namespace", "rlimits", "seccomp", "readonly-root",
	"nosuid", "nodev", "max-user-namespaces", "network-namespace", "uts-namespace", "memory-max", "pids-max",
}

// CheckLayers refuses to serve outside the test machine, whose kernel command line contains
// brig_work=, and refuses an unknown layer in BRIG_WITHOUT.
func CheckLayers() error {
	line, err := os.ReadFile("/proc/cmdline")
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(strings.Fields(string(line)), func(w string) bool { return strings.HasPrefix(w, "brig_work=") }) {
		return errors.New("this build can leave layers of isolation out (tag ablate) and runs in the test machine only: use the ordinary build")
	}
	if name := os.Getenv("BRIG_WITHOUT"); name != "" && !slices.Contains(layerNames, name) {
		return fmt.Errorf("BRIG_WITHOUT=%s: the layers are %s", name, strings.Join(layerNames, ", "))
	}
	return nil
}

func layersOff() ablation {
	if i := slices.Index(layerNames, os.Getenv("BRIG_WITHOUT")); i >= 0 {
		return 1 << i
	}
	return 0
}

func ablated(l ablation) bool { return layersOff()&l != 0 }

// cellinitArgs tells cellinit which layers to leave out.
func cellinitArgs() []string { return []string{"/proc/self/fd/3", fmt.Sprint(uint32(layersOff()))} }

// ablateSpec removes the layers left out from a cell's configuration.
func ablateSpec(s *oci.Spec) *oci.Spec {
	drop := func(l ablation, kind oci.LinuxNamespaceType) {
		if ablated(l) {
			s.Linux.Namespaces = slices.DeleteFunc(s.Linux.Namespaces, func(n oci.LinuxNamespace) bool { return n.Type == kind })
		}
	}
	drop(offNetwork, oci.NetworkNamespace)
	drop(offIPCNamespace, oci.IPCNamespace)
	drop(offUTS, oci.UTSNamespace)
	if ablated(offUTS) {
		s.Hostname = ""
	}
	if ablated(offMaxNamespaces) {
		s.Linux.Sysctl = nil
	}
	if ablated(offRlimits) {
		s.Process.Rlimits = nil
	}
	if ablated(offReadOnly) {
		s.Root.Readonly = false
	}
	return s
}
