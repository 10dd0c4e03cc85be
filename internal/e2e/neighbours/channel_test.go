package neighbours

import (
	"archive/tar"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/e2e/harness"
)

// A channel is one way in which two runs of one image may communicate. testdata/hostile/channel.c
// implements it.
type channel struct {
	name        string
	description string // for the page
	bits        int    // of a message
	bitsPerPair int    // bits that one pair of runs transfers; zero: all
	// duration of one frame, which holds as many bits as the channel transfers at once; zero: the runs run one after the
	// other
	frame time.Duration
	cold  bool          // the image's files are evicted from the page cache first
	lead  time.Duration // from the request to the first frame; zero: 400 ms
}

var channels = []channel{
	{name: "dentry", description: "time to look up a missing name in a directory of the image", bits: 256},
	{name: "page", description: "time of the first read of a file of the image that was evicted from the page cache", bits: 256, cold: true},
	{name: "mapped", description: "`Pss` in `/proc/self/smaps`: how many processes map each page of a file of the image", bits: 2048,
		frame: 200 * time.Millisecond},
	{name: "active", description: "`active` in `/proc/self/numa_maps`: which pages of the image were read more than once",
		bits: 256, cold: true},
	{name: "flock", description: "`flock` of files of the image", bits: 512, frame: 20 * time.Millisecond},
	{name: "record", description: "`fcntl` locks of bytes of a file of the image", bits: 48, frame: 60 * time.Millisecond},
	{name: "futex", description: "futexes that are not private, at a page of a file of the image that both can only read", bits: 128,
		frame: 8 * time.Millisecond},
	{name: "watch", description: "inotify on a directory of the image", bits: 256, frame: 60 * time.Millisecond},
	{name: "flock-dev", description: "`flock` of the devices in `/dev`", bits: 60, frame: 10 * time.Millisecond},
	{name: "counter", description: "inode numbers of pipes, which the kernel takes from one counter", bits: 48, bitsPerPair: 4},
	{name: "numbers", description: "growth of the same counter", bits: 48, frame: 24 * time.Millisecond},
	{name: "sessions", description: "numbers of sessions (`setsid`), which `/proc/self/autogroup` counts for the whole host", bits: 48,
		frame: 60 * time.Millisecond},
	{name: "events", description: "numbers of eventfds, which `/proc/self/fdinfo` counts for the whole host", bits: 128,
		frame: 4 * time.Millisecond},
	{name: "shared", description: "the host's shared memory, by `sysinfo`", bits: 64, frame: 20 * time.Millisecond},
}

// pagesSize is the size of the file of the image "cold" whose pages are mapped.
const pagesSize = 2048 * 4096

// coldFiles is the number of files of the image "cold" beyond those that page needs.
const coldFiles = 300

// channelImage stores the image that the channels use, and returns its tree.
func channelImage(t testing.TB, a *harness.Agent) (tree string) {
	t.Helper()
	var archive bytes.Buffer
	w := tar.NewWriter(&archive)
	err := w.WriteHeader(&tar.Header{Name: "bin", Typeflag: tar.TypeDir, Mode: 0o755})
	add := func(name string, content []byte) {
		herr := w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(content))})
		_, werr := w.Write(content)
		err = errors.Join(err, herr, werr)
	}

	for i := range coldFiles {
		add(fmt.Sprintf("cold/%d", i), bytes.Repeat([]byte{byte(i), 1}, 2048))
	}

	add("pages", bytes.Repeat([]byte{1}, pagesSize))
	if err := errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}

	img, err := a.Import(t.Context(), &archive, "cold", "")
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(a.Data, "images", "images", strings.TrimPrefix(img.Digest, "sha256:"), "root")
}

// evictDir evicts the files below a directory from the page cache.
func evictDir(t testing.TB, dir string) {
	t.Helper()
	names, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}

	for _, n := range names {
		f, err := os.Open(filepath.Join(dir, n.Name()))
		if err == nil {
			err = errors.Join(f.Sync(), unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED), f.Close())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// A transfer is the outcome of sending messages.
type transfer struct {
	wrong, bits int
	took        time.Duration // while the runs ran
	refused     string        // the call that was refused, so nothing was sent
}

// errorRate is the fraction of wrong bits; about a half if nothing gets across.
func (h transfer) errorRate() float64 { return float64(h.wrong) / float64(h.bits) }

// failed reports whether the bits read agree with the message no better than by chance: of 48 bits
// and more, a quarter or less are wrong by chance once in 3,000 messages.
func (h transfer) failed() bool { return h.refused != "" || h.errorRate() > 0.25 }

var salts int

// send sends a random message over a channel, from one run to another of the same kind.
func (c channel) send(t testing.TB, a *harness.Agent, tree string, kind api.Run) transfer {
	t.Helper()
	if c.cold {
		evictDir(t, filepath.Join(tree, "cold"))
	}

	var h transfer
	for h.bits < c.bits && h.refused == "" {
		message := make([]byte, cmp.Or(c.bitsPerPair, c.bits))
		for i := range message {
			message[i] = '0' + byte(rand.IntN(2))
		}
		h.add(t, c, a, kind, string(message))
	}

	return h
}

// best is the best outcome of up to tries messages: load on the host disturbs the clocks that the
// channel reads.
func (c channel) best(t testing.TB, a *harness.Agent, tree string, kind api.Run, tries int) (best transfer) {
	t.Helper()

	for range tries {
		h := c.send(t, a, tree, kind)
		if h.refused != "" {
			return h
		}
		if best.bits == 0 || h.errorRate() < best.errorRate() {
			best = h
		}
		if h.wrong == 0 {
			break
		}
	}

	return best
}

// defaultLead is how long two runs take to start on a mostly idle machine.
const defaultLead = 400 * time.Millisecond

// calibrate is the positive control of a channel. It sends messages until one gets across, each more
// slowly than the one before, because everything is late on a loaded machine. The returned channel
// is as slow as that took: the defense under test has to stop that one.
func (c channel) calibrate(t testing.TB, a *harness.Agent, tree string, kind api.Run) (channel, transfer) {
	t.Helper()
	for deadline := harness.Patience().Add(extraControlTime); ; c = c.slower() {
		h := c.send(t, a, tree, kind)
		if !h.failed() || h.refused != "" || time.Now().After(deadline) {
			return c, h
		}
		t.Logf("%s, %s: %d of %d bits wrong, frames of %v: again, more slowly", c.name, kind.Mode, h.wrong, h.bits, c.frame)
	}
}

// extraControlTime is the additional time for which a control is retried: what it shows does not
// depend on when it succeeds.
const extraControlTime = 30 * time.Second

// slower doubles the time for the two sides to meet, up to half a second per frame.
func (c channel) slower() channel {
	if c.frame > 0 {
		c.frame = max(c.frame, min(2*c.frame, 500*time.Millisecond))
		c.lead = min(2*cmp.Or(c.lead, defaultLead), 4*time.Second)
	}
	return c
}

// add sends a message with one pair of runs.
func (h *transfer) add(t testing.TB, c channel, a *harness.Agent, kind api.Run, message string) {
	t.Helper()
	salts++
	salt, start := fmt.Sprintf("%d-%d", os.Getpid(), salts), int64(0)
	if c.frame > 0 {
		start = time.Now().Add(harness.Slow(cmp.Or(c.lead, defaultLead))).UnixNano()
	}

	side := func(does, last string) api.Run {
		r := kind
		probe := harness.BuildProbe(t, "channel")
		r.Image, r.Files, r.Collect.None = "cold", []api.File{probe}, true
		r.Argv = []string{"./" + probe.Name, c.name, does, salt, strconv.FormatInt(start, 10),
			strconv.FormatInt(c.frame.Microseconds(), 10), last}
		r.Limits = api.Limits{Wall: harness.Slowly(20), Memory: 64 * api.MiB, OpenFiles: 200}
		return r
	}

	runs := []api.Run{side("send", message), side("read", strconv.Itoa(len(message)))}
	res := make([]api.Result, 2)
	if c.frame == 0 {
		for i, r := range runs {
			res[i] = a.MustRun(t, r)
			h.took += time.Duration(res[i].Timing.Wall)
		}
	} else {
		var both sync.WaitGroup
		errs := make([]error, 2)
		for i, r := range runs {
			both.Go(func() { res[i], errs[i] = a.Run(t.Context(), r) })
		}
		both.Wait()
		if err := errors.Join(errs...); err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		h.took += time.Since(time.Unix(0, start))
	}

	for _, r := range res {
		out := strings.TrimSpace(string(r.Stdout))
		switch call, refused := strings.CutPrefix(out, "refused "); {
		case refused:
			h.refused, _, _ = strings.Cut(call, " ")
		case r.Verdict == api.Denied && r.Denial != nil:
			h.refused = r.Denial.Syscall
		case r.Verdict != api.OK:
			t.Fatalf("%s: %s: %s%s", c.name, r.Verdict, r.Stdout, r.Stderr)
		}
	}

	if h.refused != "" {
		return
	}

	read := strings.TrimSpace(string(res[1].Stdout))
	if string(res[0].Stdout) != "sent\n" || len(read) != len(message) {
		t.Fatalf("%s: the sender says %q, the reader %q", c.name, res[0].Stdout, res[1].Stdout)
	}

	h.bits += len(message)
	for i := range message {
		if read[i] != message[i] {
			h.wrong++
		}
	}
}

func channelNamed(t testing.TB, how string) channel {
	t.Helper()
	for _, c := range channels {
		if c.name == how {
			return c
		}
	}
	t.Fatalf("there is no channel %q", how)
	return channel{}
}
