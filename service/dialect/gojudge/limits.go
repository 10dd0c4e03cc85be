package gojudge

import (
	"cmp"
	"fmt"
	"time"

	"github.com/brig-sandbox/brig/api"
)

// limits are what a command asks for. Zero is none of its own.
type limits struct {
	cpu, clock api.Duration
	memory     api.Size
	stack      api.Size
	processes  int64

	data, addressSpace bool // memory is also a limit of what each process maps
}

// largest is more than any limit of brig. It keeps sums and conversions from an overflow.
const largest = 1 << 50

func limitsOf(c command) limits {
	return limits{
		cpu:       api.Duration(min(c.CPULimit, largest)),
		clock:     api.Duration(min(cmp.Or(c.RealCPULimit, c.ClockLimit), largest)),
		memory:    api.Size(min(c.MemoryLimit, largest)),
		stack:     api.Size(min(c.StackLimit, largest)),
		processes: int64(min(c.ProcLimit, largest)),

		data: c.DataSegmentLimit || c.StrictMemoryLimit, addressSpace: c.AddressSpaceLimit,
	}
}

// mostStream is the most of a stream that the result of a run has.
const mostStream = 16 * api.MiB

// mostOutput is the limit of both streams: that of the one of which more is told. What is written to a stream that
// nobody collects must not end the program.
func (j *job) mostOutput() api.Size {
	if j.run.TTY != nil && j.stdout != nil { // the only stream
		return api.Size(min(max(j.stdout.max, 1), int64(mostStream)))
	}

	most := int64(1)
	for _, s := range []*collector{j.stdout, j.stderr} {
		switch {
		case s != nil:
			most = max(most, s.max)
		case !j.run.MergeStderr: // in a pipe, what is written after the reader has ended counts
			most = int64(mostStream)
		}
	}
	return api.Size(min(most, int64(mostStream)))
}

// granted are the limits of the run. Above a ceiling they are the ceiling: the usual client asks for a multiple of the
// time that it needs. Where that decides, lowered says so.
func (l limits) granted(output api.Size, ceiling api.Limits) api.Limits {
	asked := api.Limits{
		CPU: atLeast(l.cpu, api.Duration(time.Millisecond)), Wall: atLeast(l.clock, api.Duration(time.Millisecond)),
		Memory: atLeast(l.memory, api.MinMemory), Stack: atLeast(l.stack, 64*api.KiB), Pids: l.processes, Output: output,
	}
	if asked.Wall == 0 {
		asked.Wall = api.BusyWall(asked.CPU) // the load of the host decides nothing
	}
	if l.data {
		asked.Data = asked.Memory
	}
	if l.addressSpace {
		asked.AddressSpace = asked.Memory
	}

	capped := asked.CappedBy(ceiling)
	given := api.Limits{CPU: capped.CPU, Wall: capped.Wall, Memory: capped.Memory, Stack: capped.Stack, Pids: capped.Pids,
		Output: capped.Output, Data: capped.Data, AddressSpace: capped.AddressSpace}
	if given.Memory > 0 {
		given.Stack = min(given.Stack, given.Memory)
	}
	return given
}

// atLeast is v, or the least that brig has; zero stays zero.
func atLeast[T ~int64](v, least T) T {
	if v == 0 {
		return 0
	}
	return max(v, least)
}

// lowered says that a verdict came of a limit that the agent lowered to its ceiling, which is no answer to the program.
// Empty: it did not.
func (l limits) lowered(v api.Verdict, given api.Limits) string {
	say := func(name string, asked, most any, flag string) string {
		return fmt.Sprintf("%s is %v, and the program reached %v, the most that a run of this agent may have: ask for "+
			"less, or have the operator raise brigd %s", name, asked, most, flag)
	}
	switch {
	case v == api.CPULimit && l.cpu > given.CPU:
		return say("cpuLimit", time.Duration(l.cpu), time.Duration(given.CPU), "--max-cpu")
	case v == api.WallLimit && cmp.Or(l.clock, min(l.cpu, given.CPU)) > given.Wall:
		return say("clockLimit", time.Duration(l.clock), time.Duration(given.Wall), "--max-wall")
	case v == api.MemoryLimit && l.memory > given.Memory:
		return say("memoryLimit", l.memory, given.Memory, "--max-memory")
	}
	return ""
}
