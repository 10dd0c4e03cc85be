package cell

import (
	"cmp"

	"github.com/brig-sandbox/brig/api"
	groups "github.com/brig-sandbox/brig/cgroups"
	"github.com/brig-sandbox/brig/runtime/ablate"
)

// GroupLimits are the limits of the group of a run or of a session. cpuset is used when the limits
// name no processors; empty: all of the agent's.
func GroupLimits(l api.Limits, cpuset string) groups.Limits {
	cpuset = cmp.Or(l.Cpuset, cpuset)
	if ablate.Off(ablate.Memory) {
		l.Memory, l.Swap = 0, 0
	}
	if ablate.Off(ablate.Pids) {
		l.Pids = 0
	}
	return groups.Limits{
		MemoryBytes: int64(l.Memory), SwapBytes: int64(l.Swap), CPUs: l.CPUs, Weight: l.Weight, Pids: l.Pids, Cpuset: cpuset,
	}
}
