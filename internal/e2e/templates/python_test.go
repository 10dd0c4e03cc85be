package templates

import (
	"strings"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/e2e/harness"
)

// Commonly imported modules work under the default tier and both presets.
func TestPythonUnderEveryPreset(t *testing.T) {
	a := harness.StartAgent(t, "--max-wall", "10m")
	a.NeedPython(t)
	const source = `
import asyncio, concurrent.futures, datetime, decimal, hashlib, json, multiprocessing, os, random, re
import shutil, sqlite3, ssl, subprocess, sys, tempfile, threading, zoneinfo
def square(x): return x * x
if __name__ == "__main__":
    with multiprocessing.Pool(2) as pool: print(pool.map(square, range(4)))
    queue = multiprocessing.Queue()
    child = multiprocessing.Process(target=queue.put, args=(7,)); child.start(); print(queue.get()); child.join()
    with concurrent.futures.ThreadPoolExecutor(4) as pool: print(list(pool.map(square, [5, 6])))
    print(sqlite3.connect(":memory:").execute("select 1+1").fetchone()[0], subprocess.run(["echo", "sub"], capture_output=True, text=True).stdout.strip())
    async def shell():
        p = await asyncio.create_subprocess_exec("echo", "async", stdout=-1); return (await p.communicate())[0]
    print(asyncio.run(shell()), hashlib.sha256(b"").hexdigest()[:8], datetime.datetime(2026, 1, 1, tzinfo=zoneinfo.ZoneInfo("Asia/Tokyo")).tzname())
    with tempfile.TemporaryDirectory() as d: shutil.copytree("/usr/lib/python3.13/json", d + "/j"); print(len(os.listdir(d + "/j")) > 3)
    print(sys.stdout.encoding, "grün", random.random() < 1, decimal.Decimal(1) / 7, json.dumps({"a": re.findall("b", "abb")}))
`

	want := "[0, 1, 4, 9]\n7\n[25, 36]\n2 sub\nb'async\\n' e3b0c442 JST\nTrue\nutf-8 grün True " +
		"0.1428571428571428571428571429 {\"a\": [\"b\", \"b\"]}\n"
	for _, preset := range []string{"", "hardened", "light"} {
		t.Run("preset "+preset, func(t *testing.T) {
			r := harness.Py(source)
			r.Preset = preset
			if harness.Slow(time.Second) > time.Second { // on a slow machine, as long as the preset allows
				r.Limits.Wall = harness.Slowly(5)
			}

			res := a.MustRun(t, r)
			harness.WantVerdict(t, res, api.OK)
			if string(res.Stdout) != want {
				t.Errorf("stdout %q; want %q\nstderr %s", res.Stdout, want, res.Stderr)
			}
			if preset == "light" &&
				(res.Limits.Memory != 128*api.MiB || res.Limits.Pids != 64 || res.Limits.CPUs != 0.5 || res.Limits.Wall != harness.Slowly(5)) {
				t.Errorf("limits %+v", res.Limits)
			}
		})
	}

	res := a.MustRun(t, harness.Py("import time\nprint('é' * 3)\n1/0"))
	harness.WantVerdict(t, res, api.Nonzero)
	if !strings.Contains(string(res.Stderr), "ZeroDivisionError") || string(res.Stdout) != "ééé\n" {
		t.Errorf("stdout %q stderr %q", res.Stdout, res.Stderr)
	}
}
