package sessions

import (
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/e2e/harness"
)

// MEM-46. Below a writable root the kernel keeps a list of names for each open directory, charged to no
// group: 4.8 MiB for 9,500 long names, and another one each time that the directory changes. So a run
// has few. The controls are programs that read all of the image and remove deep trees.
func TestHostileDirectoryListings(t *testing.T) {
	a := harness.StartAgent(t, "--slots", "1")
	a.NeedPython(t)
	ordinary := harness.Py(`
import os, shutil
print(sum(len(files) for _, _, files in os.walk("/usr")) > 1000)
os.makedirs("/usr/deep/" + "/".join("d" * 20)); shutil.rmtree("/usr/deep")
print(os.path.exists("/usr/deep"))
`)

	hostile := harness.Py(`
import os
for i in range(2000): open("/etc/" + "n" * 240 + str(i), "w").close()
held, refused = [], set()
for i in range(60):
    f = os.open("/etc", os.O_RDONLY)
    try: os.listdir(f)
    except OSError as e: refused.add(e.strerror); os.close(f); continue
    held.append(f)
    open("/etc/x", "w").close(); os.remove("/etc/x")
print(len(held) <= 32, len(held) > 16, refused)
for f in held: os.close(f)
`)

	for _, r := range []*api.Run{&ordinary, &hostile} {
		r.WritableRoot, r.Limits.Inodes, r.Limits.Wall = true, 5000, harness.Seconds(20)
	}

	res := a.MustRun(t, ordinary)
	if harness.WantVerdict(t, res, api.OK); string(res.Stdout) != "True\nFalse\n" || len(res.Refused) != 0 {
		t.Errorf("an ordinary program: %s%s, refused %+v", res.Stdout, res.Stderr, res.Refused)
	}

	bounded := func(res api.Result) {
		t.Helper()
		if harness.WantVerdict(t, res, api.OK); !strings.HasPrefix(string(res.Stdout), "True True {'Cannot allocate memory'}") {
			t.Errorf("%s%s", res.Stdout, res.Stderr)
		}
	}

	bounded(a.MustRun(t, hostile))
	s := a.NewSession(t, func(s *api.SessionRequest) {
		s.Image, s.Language, s.WritableRoot, s.Limits.Inodes = "", "python", true, 5000
	})
	in, err := a.Exec(t.Context(), s.ID, api.Exec{Argv: []string{"python3", "-c", string(hostile.Source)}})
	if err != nil {
		t.Fatal(err)
	}

	bounded(in)
}
