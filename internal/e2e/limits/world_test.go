package limits

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/e2e/harness"
)

// posture prints the program's environment, one fact per line.
const posture = `
echo "# ids"; id -u; id -g; grep -E '^(Uid|Gid|Groups|Cap|NoNewPrivs|Seccomp|Sig(Ign|Blk|Cgt)|Umask)' /proc/self/status
echo "# user"; grep 1000 /etc/passwd /etc/group
echo "# cwd"; pwd; ls -ld /box /tmp /dev/shm /sandbox | awk '{print $1, $3, $4, $9, $10, $11}'
echo "# environment"; env | grep -v '^SHLVL' | sort
echo "# descriptors"; for f in /proc/self/fd/*; do echo "${f##*/} $(readlink $f)"; done | grep -v -e '/proc/' -e ' $'
echo "# limits"; cat /proc/self/limits; echo "timer slack $(cat /proc/self/timerslack_ns) ns"
echo "# mounts"; cat /proc/self/mountinfo
echo "# cgroups"; cut -d: -f3 /proc/self/cgroup | sort -u
echo "# root"; ls -A / ; echo "# proc"; ls -A /proc | grep -v '^[0-9]'; echo "# dev"; ls -lA /dev | grep -v '^total' | awk '/^c/ {print $1, $3, $4, $5 $6, $NF; next} {print $1, $3, $4, $NF}'; echo "# sys"; ls -A /sys 2>&1
echo "# network"; cat /proc/self/net/dev 2>&1 | grep -c : ; hostname
echo "# writable"; find / -xdev -type d -writable 2>/dev/null; for d in /box /tmp /dev/shm /dev /proc /etc /usr /; do touch $d/.probe 2>/dev/null && echo "can write $d"; done; true
`

// normalised replaces what differs between hosts and between runs.
func normalised(s string) string {
	for _, r := range []struct{ from, to string }{
		{`pipe:\[\d+\]`, "pipe"},
		{`(?m)^\d+ \d+ \d+:\d+ (\S+) (/\S*) (\S+).* - (\S+) \S+ (\S+)$`, "$2 $3 $4 $5"},
		{`size=\d+k`, "size"}, {`,inode64`, ""}, {`,idmapped`, ",idmapped"},
		{`(?m)^(/) (ro,nosuid,nodev,relatime,idmapped) \S+ \S+$`, "$1 $2"},
		{`(?m)^(Max (pending signals|processes|realtime timeout)).*$`, "$1"},
		{`(?m)^Seccomp_filters:.*$`, "Seccomp_filters"},
		{`[ \t]+`, " "},
	} {
		s = regexp.MustCompile(r.from).ReplaceAllString(s, r.to)
	}

	head, rest, _ := strings.Cut(s, "# mounts\n") // the kernel decides their order
	mounts, rest, _ := strings.Cut(rest, "# cgroups\n")
	lines := strings.Split(strings.TrimSpace(mounts), "\n")
	slices.Sort(lines)
	return head + "# mounts\n" + strings.Join(lines, "\n") + "\n# cgroups\n" + rest
}

// A program sees the environment that the documentation describes, to the last mount, in both
// modes, in a new cell and in one that has served many runs. NS-11, NS-13, FS-06, FS-12, PRC-04,
// PRC-07, CAP-01, CAP-02, CAP-09, CAP-10.
func TestProgramEnvironment(t *testing.T) {
	a := harness.StartAgent(t, "--slots", "1")
	look := func(mode api.Mode) string {
		r := harness.Sh(posture)
		r.Mode = mode
		r.Collect.None = true
		res := a.MustRun(t, r)
		harness.WantVerdict(t, res, api.OK)
		return normalised(string(res.Stdout))
	}

	golden := filepath.Join("..", "..", "..", "testdata", "world.golden")
	first := look(api.Strict)
	if *harness.Update {
		if err := os.MkdirAll("../../../testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(golden, []byte(first), 0o644); err != nil {
			t.Fatal(err)
		}
	}

	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}

	same := func(what, got string) {
		t.Helper()
		if got == string(want) {
			return
		}
		t.Errorf("%s differs from %s (go test ./internal/e2e/limits -run TestProgramEnvironment -update):\n%s", what, golden,
			harness.LineDiff(string(want), got))
	}

	same("the first run of a cell", first)
	for range 48 {
		a.MustRun(t, harness.Sh("echo x > /tmp/x; exit 0"))
	}

	same("the fiftieth run of the cell", look(api.Strict))
	same("a run in a fresh cell", look(api.Fresh))
}

// A writable root is writable, and is discarded with the run: the next run does not find what was
// installed there (RES-20).
func TestWritableRootIsThrownAway(t *testing.T) {
	a := harness.StartAgent(t, "--slots", "1")
	for range 3 {
		r := harness.Sh(`set -e; test ! -e /etc/mine; test ! -e /usr/bin/tool; echo x > /etc/mine; echo y > /usr/bin/tool; rm /etc/group; mkdir /new; cat /etc/mine /usr/bin/tool; test ! -e /etc/group; id -u`)
		r.WritableRoot = true
		res := a.MustRun(t, r)
		harness.WantVerdict(t, res, api.OK)
		if string(res.Stdout) != "x\ny\n1000\n" {
			t.Errorf("stdout %q stderr %q", res.Stdout, res.Stderr)
		}
	}

	res := a.MustRun(t, harness.Sh("ls /etc/mine /new /usr/bin/tool /etc/group"))
	if res.ExitCode == 0 || !strings.Contains(string(res.Stdout), "/etc/group") || strings.Contains(string(res.Stdout), "mine") ||
		strings.Contains(string(res.Stdout), "tool") {
		t.Errorf("the image shows %q", res.Stdout)
	}

	r := harness.Sh("head -c 5000000 /dev/zero > /etc/big")
	r.WritableRoot = true
	r.Limits.Scratch = api.MiB
	if res := a.MustRun(t, r); res.Verdict == api.OK || !slices.Contains(res.LimitsHit, api.HitScratch) {
		t.Errorf("verdict %s, limits_hit %v: a layer that is full is the scratch limit's", res.Verdict, res.LimitsHit)
	}

	r = harness.Sh("for i in $(seq 100); do : > /etc/many-$i || exit 1; done")
	r.WritableRoot = true
	r.Limits.Inodes = 50
	if res := a.MustRun(t, r); res.Verdict == api.OK || !slices.Contains(res.LimitsHit, api.HitInodes) {
		t.Errorf("verdict %s, limits_hit %v: a layer without inodes is the inodes limit's", res.Verdict, res.LimitsHit)
	}
}
