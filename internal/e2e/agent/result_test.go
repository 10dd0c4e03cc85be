package agent

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/e2e/harness"
)

// The file of --result contains the result even if the reader of the output is gone.
func TestResultFileWithoutAReader(t *testing.T) {
	a := harness.StartAgent(t, "--slots", "1")
	for name, command := range map[string]string{
		"output": `"$0" run --socket "$1" --result "$2" --rootfs tiny -- sh -c 'i=0; while [ $i -lt 20000 ]; do echo xxxxxxxxxxxxxxxxxxxx; i=$((i+1)); done; exit 7' | head -n 1`,
		"json":   `"$0" run --socket "$1" --result "$2" --json --rootfs tiny -- sh -c 'head -c 1000000 /dev/zero | tr "\\0" x; exit 7' | head -c 1`,
		"both":   `"$0" run --socket "$1" --result "$2" --rootfs tiny -- sh -c 'i=0; while [ $i -lt 20000 ]; do echo xxxxxxxxxxxxxxxxxxxx >&2; i=$((i+1)); done; exit 7' 2>&1 | head -n 1`,
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "r.json")
			if out, err := exec.Command("sh", "-c", command, harness.Binary(t, "brig"), a.Socket, file).CombinedOutput(); err != nil {
				t.Fatalf("%v: %.300s", err, out)
			}

			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}

			var res api.Result
			if err := json.Unmarshal(text, &res); err != nil {
				t.Fatalf("%.300q: %v", text, err)
			}
			if res.Verdict != api.Nonzero || res.ExitCode != 7 {
				t.Errorf("%s, exit code %d; want the program's own end", res.Verdict, res.ExitCode)
			}
		})
	}
}
