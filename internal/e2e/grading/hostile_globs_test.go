package grading

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/e2e/harness"
)

// FIO-21. A program and its caller together cannot waste the agent's processor time after a run
// with many long names and many globs that nearly match them: this costs as much as a scan of as
// many names with globs that match nothing. The globs find the right files.
func TestHostileGlobsAreCheap(t *testing.T) {
	a := harness.StartAgent(t, "--slots", "1", "--max-wall", "10m", "--max-cpu", "10m")
	prog := harness.CompileC(t, "names", `#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
int main(int argc, char **argv) {
	char name[300];
	memset(name, 'a', 250);
	for (int i = 0; i < atoi(argv[1]); i++) { sprintf(name + 244, "%06d", i); close(open(name, O_CREAT | O_WRONLY, 0600)); }
	return 0; }`)

	names := int(10_000 * time.Second / harness.Slow(time.Second)) // the scan has a bound on its time
	finish := func(kind, before string) time.Duration {
		r := harness.Program(prog, strconv.Itoa(names))
		r.Limits.Inodes, r.Limits.Memory, r.Limits.Wall, r.Limits.CPU = 10_100, api.GiB, harness.Slowly(60), harness.Slowly(60)
		for i := range 63 {
			r.Collect.Globs = append(r.Collect.Globs, fmt.Sprintf("%s%02d", before, i))
		}

		r.Collect.Globs = append(r.Collect.Globs, "a*[0-9]0321")
		ctx, stop := context.WithTimeout(t.Context(), harness.Slow(2*time.Minute))
		defer stop()

		res, err := a.Client.Run(ctx, r)
		if err != nil {
			t.Fatalf("%s: %v", kind, err)
		}

		harness.WantVerdict(t, res, api.OK)
		if want := strings.Repeat("a", 244) + "000321"; len(res.Files) != 1 || res.Files[0].Name != want {
			t.Errorf("%s: collected %d files; want one, which ends in 000321", kind, len(res.Files))
		}
		if len(res.Skipped) != 63 || !strings.Contains(res.Skipped[0].Reason, "no file has such a name") {
			t.Errorf("%s: skipped %.300v; want the 63 globs that match nothing", kind, res.Skipped)
		}

		t.Logf("%s: finish %s", kind, time.Duration(res.Timing.Finish))
		return time.Duration(res.Timing.Finish)
	}

	control := finish("control", "*z")
	for _, tt := range []struct{ kind, before string }{
		{"plain", "*" + strings.Repeat("a", 60) + "b"},
		{"class", "*" + strings.Repeat("[a]", 19) + "b"},
		{"range", "*" + strings.Repeat("[!b]", 14) + "b"},
		{"stars", strings.Repeat("*a", 29) + "b"},
	} {
		if took := finish(tt.kind, tt.before); took > control+20*time.Second { // path.Match would take a minute and more
			t.Errorf("%s: finish takes %s; %s with globs that match nothing", tt.kind, took, control)
		}
	}
}
