package limits

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/e2e/harness"
	"github.com/brig-sandbox/brig/internal/testenv"
)

// Programs find the processors and the memory of their run in /proc, and so a pool of workers of that size has some.
func TestProgramsSeeTheirMachine(t *testing.T) {
	a := harness.StartAgent(t, "--slots", "1")
	const node = `const os = require('os')
const { Worker, isMainThread } = require('worker_threads')
const cpus = os.cpus()
console.log(cpus.length === os.availableParallelism(), cpus.every((c) => c.model.length > 0 && c.times.user === 0), os.loadavg().length, os.uptime() > 0)
let ended = 0
for (const cpu of cpus) {
  new Worker('require("worker_threads").parentPort.postMessage(1)', { eval: true }).on('message', () => {
    ended++
    if (ended === cpus.length) console.log('all')
  })
}`

	const python = `import os
lines = open("/proc/meminfo").read().split("\n")
print(lines[0].split(), os.cpu_count() == open("/proc/cpuinfo").read().count("processor\t:") == len(os.sched_getaffinity(0)))
print([l.split()[0] for l in open("/proc/stat")][:2], open("/proc/loadavg").read().split()[0])
for name in "uptime", "vmstat", "sys", "interrupts":
    print(os.path.exists("/proc/" + name))`

	for _, tt := range []struct {
		language, image, source string
		memory                  api.Size
		want                    string
	}{
		{"javascript", "node", node, 256 * api.MiB, "true true 3 true\nall\n"},
		{"python", "python", python, 128 * api.MiB, "['MemTotal:', '131072', 'kB'] True\n['cpu', 'cpu0'] 0.00\n" +
			"False\nFalse\nFalse\nFalse\n"},
		{"python", "python", python, 64 * api.MiB,
			"['MemTotal:', '65536', 'kB'] True\n['cpu', 'cpu0'] 0.00\nFalse\nFalse\nFalse\nFalse\n"}, // in the same cell
	} {
		harness.Images.Load(t, a, tt.image)
		r := api.Run{Language: tt.language, Source: api.Bytes(tt.source), Limits: api.Limits{Memory: tt.memory, Wall: harness.Slowly(30)}}
		for _, noTemplate := range []bool{false, true} {
			r.NoTemplate = noTemplate
			if res := a.MustRun(t, r); string(res.Stdout) != tt.want {
				t.Errorf("%s, no template %v: %s, %q, %q; want %q", tt.language, noTemplate, res.Verdict, res.Stdout, res.Stderr, tt.want)
			}
		}

		s := a.NewSession(t, func(s *api.SessionRequest) { s.Image, s.Language, s.Limits.Memory = "", tt.language, tt.memory })
		res := a.MustExec(t, s.ID, api.Exec{Source: api.Bytes(tt.source), Limits: api.Limits{Wall: harness.Slowly(30)}})
		if string(res.Stdout) != tt.want {
			t.Errorf("%s in a session: %s, %q, %q; want %q", tt.language, res.Verdict, res.Stdout, res.Stderr, tt.want)
		}
	}
}

// PRC-10. The files of the machine are the cell's, whose runs are of any key: their times tell nothing of a run before.
func TestHostileTimesOfTheMachine(t *testing.T) {
	testenv.NeedRoot(t)
	a := harness.StartAgent(t, "--slots", "1")
	harness.Images.Load(t, a, "python")
	const source = `
import os
for name in "cpuinfo", "stat", "meminfo", "loadavg":
    s = os.stat("/proc/" + name)
    print(name, s.st_atime_ns, s.st_mtime_ns, s.st_ctime_ns)
    open("/proc/" + name).read()
`
	var end time.Time // of the run before
	for run, memory := range []api.Size{91 * api.MiB, 91 * api.MiB, 64 * api.MiB} {
		r := api.Run{Language: "python", Source: api.Bytes(source), NoTemplate: true, Limits: api.Limits{Memory: memory,
			Wall: harness.Slowly(30)}}
		res := a.MustRun(t, r)
		lines := strings.Split(strings.TrimSpace(string(res.Stdout)), "\n")
		if len(lines) != 4 {
			t.Fatalf("%q, %q", res.Stdout, res.Stderr)
		}

		for _, line := range lines {
			var name string
			var accessed, modified, changed int64
			if _, err := fmt.Sscan(line, &name, &accessed, &modified, &changed); err != nil {
				t.Fatal(err)
			}
			if accessed != 0 || modified != 0 || changed < end.UnixNano() || time.Unix(0, changed).After(time.Now()) {
				t.Errorf("run %d, which began after %d: %s", run, end.UnixNano(), line)
			}
		}

		end = time.Now()
		time.Sleep(20 * time.Millisecond) // times are those of the last tick
	}
}
