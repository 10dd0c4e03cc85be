//go:build ablate

package ablate

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
)

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
	if !slices.ContainsFunc(strings.Fields(string(line)),
		func(w string) bool { return strings.HasPrefix(w, "brig_work=") }) {
		return errors.New("this build can leave layers of isolation out (tag ablate) and runs in the test machine " +
			"only: use the ordinary build")
	}
	if name := os.Getenv("BRIG_WITHOUT"); name != "" && !slices.Contains(layerNames, name) {
		return fmt.Errorf("BRIG_WITHOUT=%s: the layers are %s", name, strings.Join(layerNames, ", "))
	}
	return nil
}

// layersOff is the layer that BRIG_WITHOUT names.
func layersOff() Layer {
	if i := slices.Index(layerNames, os.Getenv("BRIG_WITHOUT")); i >= 0 {
		return 1 << i
	}
	return 0
}

// Off reports whether a layer is left out.
func Off(l Layer) bool { return layersOff()&l != 0 }

// Mask is the layers that are left out, as a set.
func Mask() uint32 { return uint32(layersOff()) }
