package jobe

import (
	"cmp"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/dialect"
)

const (
	megabyte      = 1000 * 1024 // as the original counts
	noMemoryLimit = api.GiB     // of a run without a memorylimit: brig has no run without a limit
	leastMemory   = 64 * api.MiB
	allAddresses  = 1 << 47 // bytes; a larger limit does not limit
	stack         = 8 * api.MiB
	spareOutput   = 2                // times streamsize: what is beyond it is dropped, and what is beyond this ends the program
	maxCPU        = 120              // seconds; the original's
	maxWait       = 10 * time.Second // as long as the original waits
)

// overloadTest is a source with which the original's test asks for an overload.
const overloadTest = "!** TESTING OVERLOAD EXCEPTION **!"

// planRun is POST /runs.
func planRun(ask dialect.Request, on dialect.Agent) dialect.Plan {
	q, bad := read(ask.Body, on)
	var run api.Run
	if bad == "" {
		run, bad = runOf(q, on)
	}
	if bad != "" {
		p := dialect.Refuse(respond(400, bad))
		p.UnknownFields = q.unknown
		return p
	}

	missing := respond(404, missingFile)
	if q.source == overloadTest {
		p := dialect.Refuse(respond(200, answer{Run: "0", Outcome: overload}))
		p.Needs, p.Missing, p.UnknownFields = q.files, missing, q.unknown
		return p
	}

	stream := q.parameters.stream()
	return dialect.Plan{
		Runs: []api.Run{run}, MaxWait: maxWait, Needs: q.files, Missing: missing, UnknownFields: q.unknown,
		Tell: func(results []api.Result) dialect.Response { return respond(200, tell(results[0], q.language, stream)) },
	}
}

// runOf makes the run of a request.
func runOf(q request, on dialect.Agent) (run api.Run, bad string) {
	of := q.language
	l, _ := on.Find(of.brig...)
	run = api.Run{
		Language: l.Name, Profile: dialect.Profile(l), Source: api.Bytes(q.source), SourceName: sourceName(q, l),
		Limits: limits(q, on.Ceiling), Collect: api.Collect{None: true},
	}
	q.parameters.setFlags(&run, of, l)

	stem := strings.TrimSuffix(run.SourceName, path.Ext(run.SourceName))
	if main := q.parameters.mainClass; of.id == "java" && main != "" && main != stem {
		return run, "The parameter 'main_class' must be that of the sourcefilename on this server, '" + stem + "'"
	}
	if slices.ContainsFunc(q.files, func(n dialect.Need) bool { return n.Name == run.SourceName }) {
		return run, "The file_list has a file with the name of the source, '" + run.SourceName + "'"
	}

	stdin := api.Bytes(q.input)
	if !of.checked {
		run.Stdin = stdin
		return run, ""
	}
	run.Tests = []api.Test{{ID: "1", Stdin: stdin}}
	run.KeepOutput = max(min(api.Size(q.parameters.stream()), mostKept), 1)
	return run, ""
}

// mostKept is the most of a stream that the result of a test carries.
const mostKept = 16 * api.MiB

// sourceName is the name of the source. A name that brig's language does not take is that of a file that it takes: its
// compiler or interpreter goes by the name, and the original's does not.
func sourceName(q request, l api.Language) string {
	standard := q.language.name(q.source)
	name := cmp.Or(q.name, standard)
	if ext := api.Extension(name); !slices.Contains(l.Extensions, ext) {
		return standard
	}
	return name
}

// longestCPU is the most processor time that a request may have, in seconds.
func longestCPU(ceiling api.Limits) int64 {
	most := int64(maxCPU)
	for _, c := range []api.Duration{ceiling.CPU, ceiling.Wall} {
		if c > 0 {
			most = min(most, int64(time.Duration(c)/time.Second))
		}
	}
	return most
}

// limits are those of the program. The original has no ceilings but for the processor time, so that a limit above
// brig's is taken for brig's.
func limits(q request, ceiling api.Limits) api.Limits {
	p := q.parameters
	cpu := api.Duration(p.cpu * float64(time.Second))
	if cpu <= 0 {
		cpu = api.Duration(longestCPU(ceiling)) * api.Duration(time.Second)
	}
	cpu = max(cpu, api.Duration(time.Millisecond))

	l := api.Limits{
		CPU: cpu, Wall: api.BusyWall(cpu), // the load of the host decides nothing
		Memory: noMemoryLimit,
		Pids:   max(int64(p.processes)+1, 1), // the original's shell is one
		Output: max(api.Size(p.stream())*spareOutput, 1),
	}
	if !q.language.ownStack {
		l.Stack = stack
	}
	if size := p.memoryMB * megabyte; size > 0 {
		l.Memory = max(api.Size(min(size, allAddresses)), leastMemory)
		if size < allAddresses {
			l.AddressSpace = max(api.Size(size), api.MinMemory)
		}
	}
	if size := p.diskMB * megabyte; size >= 0 {
		l.FileSize = max(api.Size(size), api.KiB)
		l.Scratch = max(l.FileSize, api.Defaults().Scratch)
	}

	capped := l.CappedBy(ceiling)
	l.Wall, l.CPU, l.Memory, l.Pids, l.Output = capped.Wall, capped.CPU, capped.Memory, capped.Pids, capped.Output
	l.Stack, l.Scratch, l.AddressSpace, l.FileSize = capped.Stack, capped.Scratch, capped.AddressSpace, capped.FileSize
	return l
}

// stream is how much of each stream is told, in bytes.
func (p parameters) stream() int { return int(max(p.streamMB, 0) * megabyte) }
