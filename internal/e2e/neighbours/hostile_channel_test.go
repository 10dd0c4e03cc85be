package neighbours

import (
	"cmp"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/e2e/harness"
)

// startChannelAgent starts an agent on its own store that holds no files of images in memory, so
// that they can leave the page cache.
func startChannelAgent(t *testing.T, slots string) (a *harness.Agent, tree string) {
	t.Helper()
	a = harness.StartAgentWith(t, harness.PublicDir(t, "brig-channel-"), "--slots", slots, "--image-memory", "none")
	return a, channelImage(t, a)
}

// RES-25: what two runs of one image share carries messages from one to the other in the modes
// strict and fresh, and none in mode exclusive.
func TestHostileChannelsOfAnImage(t *testing.T) {
	a, tree := startChannelAgent(t, "2")
	for n, how := range []string{"dentry", "page", "mapped", "active", "flock", "record", "futex"} {
		if harness.LeftOut(n, 3) {
			continue
		}
		t.Run(how, func(t *testing.T) {
			c := channelNamed(t, how)
			kind, said := permissiveProfile(t, a, tree, c)
			if said.failed() && said.refused == "" {
				c, said = c.calibrate(t, a, tree, kind)
			}

			t.Logf("%s, profile %s %s: %d of %d bits wrong", kind.Mode, kind.Profile, kind.ProfileMode, said.wrong, said.bits)
			if said.failed() {
				t.Errorf("%d of %d bits wrong %s: the test proves nothing", said.wrong, said.bits, said.refused)
			}

			kind.Mode = api.Fresh
			c, fresh := c.calibrate(t, a, tree, kind)
			if fresh.failed() {
				t.Errorf("fresh: %d of %d bits wrong %s: docs/reports/channels.md says that they get across", fresh.wrong, fresh.bits, fresh.refused)
			}

			kind.Mode = api.Exclusive
			for range 3 {
				h := c.send(t, a, tree, kind)
				if !h.failed() || h.refused != "" {
					t.Errorf("exclusive: %d of %d bits wrong %s; want as many as chance has", h.wrong, h.bits, h.refused)
				}
			}
		})
	}
}

// permissiveProfile finds the first profile that lets a channel's calls through, and what gets across under
// it in mode strict.
func permissiveProfile(t *testing.T, a *harness.Agent, tree string, c channel) (kind api.Run, got transfer) {
	t.Helper()
	kinds := []api.Run{{Profile: "default"}, {Profile: "managed"}, {Profile: "compile"}, {Profile: "default", ProfileMode: api.Log}}
	for _, kind = range kinds {
		kind.Mode = api.Strict
		if got = c.best(t, a, tree, kind, 5); got.refused == "" {
			break
		}
	}
	return kind, got
}

// FS-27: a device in one cell's /dev is not the same file as in another's: locks on them do not
// conflict, in any mode. Two processes of one run do conflict.
func TestHostileLocksOfDevices(t *testing.T) {
	a, tree := startChannelAgent(t, "2")
	c := channelNamed(t, "flock-dev")
	kind, said := permissiveProfile(t, a, tree, c)
	if !said.failed() || said.refused != "" {
		t.Errorf("profile %s %s: %d of %d bits wrong %s; want as many as chance has", kind.Profile, kind.ProfileMode, said.wrong,
			said.bits, said.refused)
	}

	two := harness.CompileC(t, "two", `#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
int main(void) { int a = open("/dev/null", O_RDONLY), b = open("/dev/null", O_RDONLY);
  if (flock(a, LOCK_EX | LOCK_NB)) puts("first"); if (flock(b, LOCK_EX | LOCK_NB)) puts(strerrorname_np(errno)); return 0; }`)

	kind.Image, kind.Files, kind.Argv = "cold", []api.File{two}, []string{"./two"}
	if res := a.MustRun(t, kind); strings.TrimSpace(string(res.Stdout)) != "EWOULDBLOCK" && strings.TrimSpace(string(res.Stdout)) != "EAGAIN" {
		t.Errorf("two of one run: %q; want EAGAIN: the test proves nothing", res.Stdout)
	}
}

// RES-25: the tests of one submission, one after the other on one slot, do not share what they
// looked up in the image either.
func TestHostileTestsOfOneSubmission(t *testing.T) {
	a, _ := startChannelAgent(t, "1")
	testsTellEachOther(t, a, channelNamed(t, "dentry"))
}

// RES-28: nor do those that run side by side share the pages that they map.
func TestHostileTestsSideBySide(t *testing.T) {
	a, _ := startChannelAgent(t, "2")
	testsTellEachOther(t, a, channelNamed(t, "mapped"))
}

// testsTellEachOther demands that one test of a submission can send a message to another in mode strict, and none in
// mode exclusive.
func testsTellEachOther(t *testing.T, a *harness.Agent, c channel) {
	t.Helper()
	probe := harness.BuildProbe(t, "channel")
	message := strings.Repeat("0110100110010110", c.bits/16)
	wrongBits := func(mode api.Mode, c channel) int {
		salts++
		salt, frame, start := fmt.Sprintf("%d-%d", os.Getpid(), salts), strconv.FormatInt(c.frame.Microseconds(), 10), "0"
		if c.frame > 0 {
			start = strconv.FormatInt(time.Now().Add(harness.Slow(cmp.Or(c.lead, defaultLead))).UnixNano(), 10)
		}

		r := api.Run{
			Image: "cold", Files: []api.File{probe}, Argv: []string{"./channel", c.name}, Mode: mode, Limits: harness.HostileLimits(),
			Tests: []api.Test{
				{ID: "1", Args: []string{"send", salt, start, frame, message}},
				{ID: "2", Args: []string{"read", salt, start, frame, strconv.Itoa(len(message))}},
			},
		}

		r.Limits.Wall = harness.Slowly(20)
		res := a.MustRun(t, r)
		read := strings.TrimSpace(string(res.Tests[1].Result.Stdout))
		if len(read) != len(message) {
			t.Fatalf("%s: %s: the reader says %q", mode, res.Verdict, read)
		}

		wrong := 0
		for i := range message {
			if read[i] != message[i] {
				wrong++
			}
		}

		return wrong
	}

	minimum := len(message)
	deadline := harness.Patience().Add(extraControlTime) // load on the host disturbs the clock that is read
	for {
		minimum = min(minimum, wrongBits(api.Strict, c))
		if minimum <= len(message)/4 || time.Now().After(deadline) {
			break
		}
		c = c.slower()
	}

	if minimum > len(message)/4 {
		t.Errorf("strict: %d of %d bits wrong: the test proves nothing", minimum, len(message))
	}

	for range 3 {
		if n := wrongBits(api.Exclusive, c); n < len(message)/4 {
			t.Errorf("exclusive: %d of %d bits wrong; want as many as chance has", n, len(message))
		}
	}
}
