package piston

import (
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/dialect"
)

const (
	compileTime   = api.Duration(10 * time.Second) // of the processor, if the request sets none
	runTime       = api.Duration(3 * time.Second)  // of the processor and of the clock, if the request sets none
	noMemoryLimit = api.GiB                        // of a run that sets none: brig has no run without a limit
	maxOutput     = 64 * api.KiB                   // of stdout and of stderr, each; the original has 1 KiB
	openFiles     = 2048

	standardWall = api.Duration(30 * time.Second)
	longest      = 1e9              // milliseconds; more is refused by any ceiling
	mostMemory   = 1 << 50          // bytes; the same
	maxWait      = 10 * time.Second // open-r1 gives up after 30 s without an answer, in which its program has to run, too
)

// planExecute is POST /api/v2/execute.
func planExecute(ask dialect.Request, on dialect.Agent) dialect.Plan {
	o, refusal := decode(ask.Body)
	if refusal != nil {
		return *refusal
	}

	q, refused := read(o, on)
	if refused != "" {
		p := refuse(refused)
		p.UnknownFields = q.unknown
		return p
	}
	return dialect.Plan{
		Runs: []api.Run{runOf(q, on.Ceiling)}, MaxWait: maxWait, UnknownFields: q.unknown,
		TellInOrder: func(results []api.Result, orders []dialect.Order) dialect.Response {
			return tell(results[0], orders[0], q.runtime)
		},
	}
}

// runOf makes the run of a request.
func runOf(q request, ceiling api.Limits) api.Run {
	main, others := place(q.files, q.runtime.language)
	run := api.Run{
		Language: q.runtime.on.Name, Profile: dialect.Profile(q.runtime.on),
		Source: main.content, SourceName: main.name, Files: others, Argv: q.args, Stdin: api.Bytes(q.stdin),
		Env:    map[string]string{"PISTON_LANGUAGE": q.runtime.id},
		Limits: limits(q.limits, ceiling), Collect: api.Collect{None: true},
	}
	if run.Source == nil {
		run.Source = api.Bytes{}
	}
	if q.runtime.on.CompileTier != "" {
		run.CompileLimits = compileLimits(q.limits, ceiling)
	}
	return run
}

// limits are those of the program. What the request does not set is at most what the agent allows. A program may use
// the processor for as long as its request lets it run.
func limits(given map[string]float64, ceiling api.Limits) api.Limits {
	unasked := api.Limits{Wall: runTime, CPU: runTime, Memory: noMemoryLimit, Output: maxOutput, OpenFiles: openFiles}
	if wall, is := given["run_timeout"]; is {
		unasked.CPU = max(runTime, duration(wall))
	}
	return asked(given, "run", unasked.CappedBy(ceiling))
}

// compileLimits are those of the compiler. A compiler waits for nothing, so that both times are those of the processor.
func compileLimits(given map[string]float64, ceiling api.Limits) api.Limits {
	l := asked(given, "compile", api.Limits{Wall: compileTime, CPU: compileTime}.CappedBy(ceiling))
	if _, is := given["compile_cpu_time"]; is {
		l.CPU = min(l.CPU, l.Wall)
	} else {
		l.CPU = l.Wall
	}

	l.Wall = max(l.CPU, min(api.BusyWall(l.CPU), standardWall))
	if ceiling.Wall > 0 {
		l.Wall = min(l.Wall, ceiling.Wall)
	}
	return l
}

// asked returns limits with what a request sets for a stage.
func asked(given map[string]float64, stage string, l api.Limits) api.Limits {
	if v, is := given[stage+"_timeout"]; is {
		l.Wall = duration(v)
	}
	if v, is := given[stage+"_cpu_time"]; is {
		l.CPU = duration(v)
	}
	if v, is := given[stage+"_memory_limit"]; is {
		l.Memory = max(api.Size(min(v, mostMemory)), api.MinMemory)
	}
	return l
}

func duration(milliseconds float64) api.Duration {
	return max(api.Duration(min(milliseconds, longest)*float64(time.Millisecond)), api.Duration(time.Millisecond))
}

func milliseconds(d api.Duration) float64 { return float64(d) / float64(time.Millisecond) }
