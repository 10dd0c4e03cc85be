package e2e

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
)

// A channel is one way in which two runs of one image may talk, done by
// corpus/cases/channel.c.
type channel struct {
	how   string
	what  string        // for the page
	bits  int           // of a message
	each  int           // bits that one pair of runs carries; zero: all
	frame time.Duration // of as many bits as the way carries at once; zero: the runs come one after the other
	cold  bool          // the image's files are thrown out of the page cache before
	lead  time.Duration // from the request to the first frame; zero: 400 ms
}

var channels = []channel{
	{how: "dentry", what: "names that are not there, looked up in a directory of the image: how long it takes", bits: 256},
	{how: "page", what: "files of the image that had left the page cache: how long the first read takes", bits: 256, cold: true},
	{how: "flock", what: "`flock` of files of the image", bits: 512, frame: 20 * time.Millisecond},
	{how: "record", what: "`fcntl` locks of bytes of a file of the image", bits: 48, frame: 60 * time.Millisecond},
	{how: "watch", what: "inotify on a directory of the image", bits: 256, frame: 60 * time.Millisecond},
	{how: "flock-dev", what: "`flock` of the devices in `/dev`", bits: 60, frame: 10 * time.Millisecond},
	{how: "counter", what: "inode numbers of pipes, which one counter of the kernel gives", bits: 48, each: 4},
	{how: "numbers", what: "the same counter, as it moves", bits: 48, frame: 24 * time.Millisecond},
	{how: "sessions", what: "numbers of sessions (`setsid`), which `/proc/self/autogroup` tells of the whole host", bits: 48, frame: 60 * time.Millisecond},
	{how: "events", what: "numbers of eventfds, which `/proc/self/fdinfo` tells of the whole host", bits: 128, frame: 4 * time.Millisecond},
	{how: "shared", what: "the host's shared memory, by `sysinfo`", bits: 64, frame: 20 * time.Millisecond},
}

// coldFiles is how many files the image "cold" has beyond what page needs.
const coldFiles = 300

// channelImage stores the image that the channels are in, and returns its tree.
func channelImage(t testing.TB, a *agent) (tree string) {
	t.Helper()
	var archive bytes.Buffer
	w := tar.NewWriter(&archive)
	err := w.WriteHeader(&tar.Header{Name: "bin", Typeflag: tar.TypeDir, Mode: 0o755})
	for i := range coldFiles {
		content := bytes.Repeat([]byte{byte(i), 1}, 2048)
		herr := w.WriteHeader(&tar.Header{Name: fmt.Sprintf("cold/%d", i), Mode: 0o644, Size: int64(len(content))})
		_, werr := w.Write(content)
		err = errors.Join(err, herr, werr)
	}
	if err := errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	img, err := a.Import(t.Context(), &archive, "cold", "")
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(a.data, "images", "images", strings.TrimPrefix(img.Digest, "sha256:"), "root")
}

// chill throws the files below a directory out of the page cache.
func chill(t testing.TB, dir string) {
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

// A carried is what came of messages.
type carried struct {
	wrong, bits int
	took        time.Duration // while the runs ran
	refused     string        // a call that is, and so nothing was sent
}

// errors is the share of wrong bits; where nothing is carried it is about a half.
func (h carried) errors() float64 { return float64(h.wrong) / float64(h.bits) }

// nothing reports whether what was read had no more to do with the message than chance has:
// of 48 bits and more, a quarter or less are wrong by chance once in 3,000 messages.
func (h carried) nothing() bool { return h.refused != "" || h.errors() > 0.25 }

var salts int

// say sends a random message by a channel, from one run to another of the same kind.
func (c channel) say(t testing.TB, a *agent, tree string, kind api.Run) carried {
	t.Helper()
	if c.cold {
		chill(t, filepath.Join(tree, "cold"))
	}
	var h carried
	for h.bits < c.bits && h.refused == "" {
		message := make([]byte, cmp.Or(c.each, c.bits))
		for i := range message {
			message[i] = '0' + byte(rand.IntN(2))
		}
		h.add(t, c, a, kind, string(message))
	}
	return h
}

// best is what came of the best of so many messages: a machine that others load disturbs the
// clocks that are read.
func (c channel) best(t testing.TB, a *agent, tree string, kind api.Run, tries int) (best carried) {
	t.Helper()
	for range tries {
		h := c.say(t, a, tree, kind)
		if h.refused != "" {
			return h
		}
		if best.bits == 0 || h.errors() < best.errors() {
			best = h
		}
		if h.wrong == 0 {
			break
		}
	}
	return best
}

// usualLead is what two runs take to be there on a machine with little else to do.
const usualLead = 400 * time.Millisecond

// across is the positive control of a channel: it sends messages until one gets across, each
// more slowly than the one before, because a machine that others load is late with everything.
// The channel it returns is as slow as that took: what is held against it has to stop that one.
func (c channel) across(t testing.TB, a *agent, tree string, kind api.Run) (channel, carried) {
	t.Helper()
	for deadline := patience().Add(patienceOfControl); ; c = c.slower() {
		h := c.say(t, a, tree, kind)
		if !h.nothing() || h.refused != "" || time.Now().After(deadline) {
			return c, h
		}
		t.Logf("%s, %s: %d of %d bits wrong, frames of %v: again, more slowly", c.how, kind.Mode, h.wrong, h.bits, c.frame)
	}
}

// patienceOfControl is how much longer than for anything else a control is tried: what it shows
// does not depend on when.
const patienceOfControl = 30 * time.Second

// slower gives the two sides twice the time to meet, up to half a second for a frame.
func (c channel) slower() channel {
	if c.frame > 0 {
		c.frame = max(c.frame, min(2*c.frame, 500*time.Millisecond))
		c.lead = min(2*cmp.Or(c.lead, usualLead), 4*time.Second)
	}
	return c
}

// add sends a message by one pair of runs.
func (h *carried) add(t testing.TB, c channel, a *agent, kind api.Run, message string) {
	t.Helper()
	salts++
	salt, start := fmt.Sprintf("%d-%d", os.Getpid(), salts), int64(0)
	if c.frame > 0 {
		start = time.Now().Add(slow(cmp.Or(c.lead, usualLead))).UnixNano()
	}
	side := func(does, last string) api.Run {
		r := kind
		probe := buildProbe(t, "channel")
		r.Image, r.Files, r.Collect.None = "cold", []api.File{probe}, true
		r.Argv = []string{"./" + probe.Name, c.how, does, salt, strconv.FormatInt(start, 10), strconv.FormatInt(c.frame.Microseconds(), 10), last}
		r.Limits = api.Limits{Wall: slowly(20), Memory: 64 * api.MiB, OpenFiles: 200}
		return r
	}
	runs := []api.Run{side("send", message), side("read", strconv.Itoa(len(message)))}
	res := make([]api.Result, 2)
	if c.frame == 0 {
		for i, r := range runs {
			res[i] = a.run(t, r)
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
			t.Fatalf("%s: %v", c.how, err)
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
			t.Fatalf("%s: %s: %s%s", c.how, r.Verdict, r.Stdout, r.Stderr)
		}
	}
	if h.refused != "" {
		return
	}
	read := strings.TrimSpace(string(res[1].Stdout))
	if string(res[0].Stdout) != "sent\n" || len(read) != len(message) {
		t.Fatalf("%s: the sender says %q, the reader %q", c.how, res[0].Stdout, res[1].Stdout)
	}
	h.bits += len(message)
	for i := range message {
		if read[i] != message[i] {
			h.wrong++
		}
	}
}

func channelBy(t testing.TB, how string) channel {
	t.Helper()
	for _, c := range channels {
		if c.how == how {
			return c
		}
	}
	t.Fatalf("there is no channel %q", how)
	return channel{}
}
