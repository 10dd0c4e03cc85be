package sandboxfusion

import (
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/dialect"
	"github.com/brig-sandbox/brig/service/dialect/fastapi"
)

const (
	defaultTimeout = 10.0         // seconds, of the compiler and of the program
	noMemoryLimit  = api.GiB      // of a run that sets none: brig has no run without a limit
	maxOutput      = 4 * api.MiB  // the original reads 1 MiB of a stream and lets the program go on; brig ends it here
	maxFetched     = 16 * api.MiB // of all files that are returned
	maxMemoryMB    = 1 << 20      // more is refused by any ceiling
	longest        = 1_000_000    // seconds; the same
	busyWall       = 4            // times the processor time of a compiler, so that the load of the host decides nothing
	standardWall   = api.Duration(30 * time.Second)
	maxWait        = 8 * time.Second // verl gives up 10 s after both timeouts, and then does not try again
)

// planRunCode is POST /run_code.
func planRunCode(ask dialect.Request, on dialect.Agent) dialect.Plan {
	if !utf8.Valid(ask.Body) {
		return fastapi.NotText()
	}

	q, bad := read(ask.Body, offered(on))
	if len(bad) > 0 {
		p := dialect.Refuse(fastapi.Error(422, bad))
		p.UnknownFields = q.unknown
		return p
	}
	if q.cannot != "" {
		p := dialect.Refuse(fastapi.Respond(200, answer{Status: sandboxError, Message: q.cannot, Files: map[string]string{}}))
		p.UnknownFields = q.unknown
		return p
	}

	of := languages[slices.IndexFunc(languages, func(l language) bool { return l.id == q.language })]
	return dialect.Plan{
		Runs: []api.Run{runOf(q, of, on)}, MaxWait: maxWait, UnknownFields: q.unknown,
		Tell: func(results []api.Result) dialect.Response {
			return fastapi.Respond(200, tell(results[0], of, q.fetch))
		},
	}
}

// runOf makes the run of a request, in the way in which a language runs.
func runOf(q request, of language, on dialect.Agent) api.Run {
	l, _ := on.Find(of.brig...)
	run := api.Run{
		Language: l.Name, Profile: dialect.Profile(l), Flags: of.flags, Stdin: api.Bytes(q.stdin),
		Limits: limits(q, on.Ceiling), Collect: collect(q.fetch),
	}
	if l.CompileTier != "" {
		run.CompileLimits = compileLimits(q, on.Ceiling)
	}

	code := q.code
	if of.source != nil {
		code = of.source(code)
	}

	run.Files = slices.Clone(q.files)
	run.Source, run.SourceName = api.Bytes(code), sourceName(of, run.Files)
	if of.id == "java" { // its name is that of its class, and the original writes it last
		run.SourceName = of.file
		run.Files = slices.DeleteFunc(run.Files, func(f api.File) bool { return f.Name == of.file })
	}

	if of.id == "pytest" {
		run.Files = slices.DeleteFunc(run.Files, func(f api.File) bool { return f.Name == of.file || f.Name == pytestDriver })
		run.Files = append(run.Files, api.File{Name: of.file, Content: api.Bytes(code)})
		run.Source, run.SourceName = api.Bytes(pytestSource), pytestDriver
	}
	return run
}

// sourceName is the name of the source, which in the original no file of the request has.
func sourceName(of language, files []api.File) string {
	ext := path.Ext(of.file)
	name := of.file
	for n := 1; slices.ContainsFunc(files, func(f api.File) bool { return f.Name == name }); n++ {
		name = strings.TrimSuffix(of.file, ext) + strconv.Itoa(n) + ext
	}
	return name
}

// limits are those of the program. What the request does not set is at most what the agent allows.
func limits(q request, ceiling api.Limits) api.Limits {
	unasked := api.Limits{Wall: seconds(defaultTimeout), Memory: noMemoryLimit, Output: maxOutput}.CappedBy(ceiling)
	l := api.Limits{Output: unasked.Output, Wall: unasked.Wall, Memory: unasked.Memory}
	if q.runTimeout != nil {
		l.Wall = seconds(*q.runTimeout)
	}
	if q.memoryMB > 0 {
		l.Memory = max(api.Size(min(q.memoryMB, maxMemoryMB))*api.MiB, api.MinMemory)
	}
	return l
}

// compileLimits are those of the compiler. A compiler waits for nothing, so that the time is that of the processor.
func compileLimits(q request, ceiling api.Limits) api.Limits {
	l := api.Limits{CPU: seconds(defaultTimeout)}.CappedBy(ceiling)
	if q.compileTimeout != nil {
		l.CPU = seconds(*q.compileTimeout)
	}

	l.Wall = max(l.CPU, min(busyWall*l.CPU, standardWall))
	if ceiling.Wall > 0 && l.CPU <= ceiling.Wall {
		l.Wall = min(l.Wall, ceiling.Wall)
	}
	return api.Limits{CPU: l.CPU, Wall: l.Wall}
}

// seconds is a timeout. One that is not positive has passed when the program starts.
func seconds(v float64) api.Duration {
	return max(api.Duration(min(v, longest)*float64(time.Second)), api.Duration(time.Millisecond))
}

// collect asks for the files that the caller wants back, of which nothing is a pattern.
func collect(fetch []fetched) api.Collect {
	if len(fetch) == 0 {
		return api.Collect{None: true}
	}

	c := api.Collect{Files: api.CollectFilesMax, Bytes: maxFetched}
	for _, f := range fetch {
		c.Globs = append(c.Globs, escapePattern.Replace(f.name))
	}
	slices.Sort(c.Globs)
	c.Globs = slices.Compact(c.Globs)
	return c
}

var escapePattern = strings.NewReplacer("*", "[*]", "?", "[?]", "[", "[[]", `\`, `[\\]`)
