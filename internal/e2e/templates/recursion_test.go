package templates

import (
	"bytes"
	"testing"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/e2e/harness"
)

// JavaScript recurses as deep as its stack may grow. Beyond that the error is the program's own,
// whatever the stack and memory limits are.
func TestJavaScriptRecursion(t *testing.T) {
	a := harness.StartAgent(t, "--slots", "1", "--max-wall", "10m", "--max-cpu", "10m")
	if !harness.Chosen("javascript", false) {
		return
	}

	harness.Images.Load(t, a, "node")
	js := func(source string, l api.Limits) api.Result {
		t.Helper()
		l.Wall, l.CPU = harness.Slowly(60), harness.Slowly(60)
		return a.MustRun(t, api.Run{Language: "javascript", Source: api.Bytes(source), Limits: l})
	}

	const deep = "function f(n) { return n === 0 ? 0 : 1 + f(n - 1); }\n"
	for depth, l := range map[string]api.Limits{"1000000": {}, "100000": {Memory: 128 * api.MiB}, "20000": {Stack: 8 * api.MiB}} {
		if res := js(deep+"console.log(f("+depth+"))", l); res.Verdict != api.OK || string(res.Stdout) != depth+"\n" {
			t.Errorf("depth %s under %+v: %s, signal %d, %.200q", depth, l, res.Verdict, res.Signal, res.Stderr)
		}
	}

	for _, l := range []api.Limits{{}, {Memory: 64 * api.MiB}, {Stack: api.MiB}, {Stack: 8 * api.MiB}, {Stack: 64 * api.MiB}} {
		res := js(deep+"console.log(f(1e9))", l)
		harness.WantVerdict(t, res, api.Nonzero)
		if !bytes.Contains(res.Stderr, []byte("RangeError: Maximum call stack size exceeded")) {
			t.Errorf("recursion without end under %+v: %.300q", l, res.Stderr)
		}
	}

	if res := js(deep+"try { f(1e9) } catch (e) { console.log(e.name) }\nnew "+
		"(require('worker_threads').Worker)(\"console.log('worker')\", { eval: true })", api.Limits{}); string(res.Stdout) != "RangeError\nworker\n" {
		t.Errorf("%s, %q, %.300q", res.Verdict, res.Stdout, res.Stderr)
	}
}
