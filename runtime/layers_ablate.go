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

// layerNames are the words of BRIG_WITHOUT, in the order of the bits.
var layerNames = []string{
	"bounding-set", "no-new-privs", "dumpable", "keyrings", "close-range", "uid", "proc-subset", "proc-hidepid",
	"proc-readonly", "pid-namespace", "ipc-namespace", "cgroup-namespace", "rlimits", "seccomp", "readonly-root",
	"nosuid", "nodev", "max-user-namespaces", "network-namespace", "uts-namespace", "memory-max", "pids-max",
}

// CheckLayers refuses to serve outside the test machine, whose kernel command line
// says brig_work=, and refuses a layer in BRIG_WITHOUT that it does not know.
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

func off(l ablation) bool { return layersOff()&l != 0 }

// cellinitArgs tell cellinit which layers it leaves out.
func cellinitArgs() []string { return []string{"/proc/self/fd/3", fmt.Sprint(uint32(layersOff()))} }

// ablateSpec takes out of a cell's configuration what is left out.
func ablateSpec(s *oci.Spec) *oci.Spec {
	drop := func(l ablation, kind oci.LinuxNamespaceType) {
		if off(l) {
			s.Linux.Namespaces = slices.DeleteFunc(s.Linux.Namespaces, func(n oci.LinuxNamespace) bool { return n.Type == kind })
		}
	}
	drop(offNetwork, oci.NetworkNamespace)
	drop(offIPCNamespace, oci.IPCNamespace)
	drop(offUTS, oci.UTSNamespace)
	if off(offUTS) {
		s.Hostname = ""
	}
	if off(offMaxNamespaces) {
		s.Linux.Sysctl = nil
	}
	if off(offRlimits) {
		s.Process.Rlimits = nil
	}
	if off(offReadOnly) {
		s.Root.Readonly = false
	}
	return s
}
