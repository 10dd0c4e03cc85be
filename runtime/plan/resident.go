package plan

import (
	"cmp"
	"time"

	"github.com/brig-sandbox/brig/api"
)

// residentOutput is what a resident may write. Nobody keeps it.
const residentOutput = api.GiB

// residentLimits completes what is asked for a resident of a session: as much time as the session lives. It holds no
// slot, so the ceilings of what holds one do not apply: its share of the processors is that of processes left running,
// whose time has no limit of its own either.
func residentLimits(asked, ceiling api.Limits, life time.Duration) (of, under api.Limits) {
	asked.Wall = cmp.Or(asked.Wall, api.Duration(life))
	asked.CPU = cmp.Or(asked.CPU, asked.Wall)
	asked.Output = cmp.Or(asked.Output, residentOutput)

	ceiling.Wall = max(ceiling.Wall, api.Duration(life))
	if ceiling.CPU != 0 {
		ceiling.CPU = max(ceiling.CPU, ceiling.Wall)
	}
	ceiling.Output = max(ceiling.Output, residentOutput)
	return asked, ceiling
}
