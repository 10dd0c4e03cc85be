package run

import (
	"github.com/brig-sandbox/brig/api"
	groups "github.com/brig-sandbox/brig/cgroups"
)

// The kernel charges a file in memory to the process that writes it, and the agent writes the
// inputs. The program may write to them as well: uncorrected, they would be memory beyond its limit
// (MEM-19). So the group of a run gets its limit minus what the inputs take, and the reported
// memory includes them. A removed input still counts: the agent cannot see what became of its pages.

// withoutInputs returns limits without the memory that the placed files take.
func withoutInputs(l api.Limits, placed api.Size) api.Limits {
	l.Memory -= placed
	return l
}

// withInputs adds the memory of placed files to a measured usage.
func withInputs(u groups.Usage, placed api.Size) groups.Usage {
	u.MemoryPeak += int64(placed)
	return u
}
