package runtime

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/testenv"
	"github.com/brig-sandbox/brig/rootfs"
	"github.com/brig-sandbox/brig/runtime/session"
)

// ownTinyStore is a store of the test alone, with the tiny image, from which it may remove the image.
func ownTinyStore(t *testing.T, dir string) *rootfs.Store {
	t.Helper()
	tiny, err := tinyStore(t).Lookup("tiny")
	check(t, err)
	archive, err := exec.Command("tar", "-C", tiny.Path, "-c", ".").Output()
	check(t, err)
	s, err := rootfs.Open(filepath.Join(dir, "store"))
	check(t, err)
	_, err = s.Import(t.Context(), bytes.NewReader(archive), rootfs.Options{Name: "tiny"})
	check(t, err)
	return s
}

// children are the processes that this one has started and not yet waited for.
func children(t *testing.T) (pids []int) {
	t.Helper()
	files, err := filepath.Glob("/proc/self/task/*/children")
	check(t, err)
	for _, file := range files {
		list, _ := os.ReadFile(file) // a thread that has ended has none
		for _, text := range strings.Fields(string(list)) {
			pid, err := strconv.Atoi(text)
			check(t, err)
			if comm, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid)); err == nil && strings.TrimSpace(string(comm)) != "imagefiles" {
				pids = append(pids, pid)
			}
		}
	}
	return pids
}

// AGT-17, for bases that are made ahead: a session gets one only whole, whichever step of it failed or whatever
// happened to it meanwhile; the failure leaves nothing; and they take neither a place nor memory from a session.
func TestSessionsOnBasesMadeAhead(t *testing.T) {
	dir, second := privately(t)
	if !second {
		return
	}

	f := &fault{}
	store := ownTinyStore(t, dir)
	const places = 5
	h, err := Open(Config{
		RunDir: filepath.Join(dir, "run"), Slots: 2, Images: store, fault: f.step, Sessions: places,
		Memory: places * 40 * api.MiB,
	})
	check(t, err)
	closed := false
	stop := func() {
		if closed {
			return
		}
		closed = true
		if err := h.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
		if left, err := os.ReadDir(filepath.Join(dir, "run")); err != nil || len(left) != 0 {
			t.Errorf("left in the run directory: %v, %v", left, err)
		}
	}
	t.Cleanup(stop)

	limits := api.Limits{Memory: 32 * api.MiB, Scratch: api.MiB, Pids: 4}
	ask := api.SessionRequest{Image: "tiny", Limits: limits}
	create := func(ask api.SessionRequest) (api.Session, error) {
		return h.CreateSession(t.Context(), ask, time.Minute, api.Caller{})
	}
	use := func(s api.Session, script, want string) {
		t.Helper()
		var out bytes.Buffer
		_, err := h.Exec(t.Context(), s.ID, api.Exec{Argv: []string{"/bin/sh", "-c", script}},
			api.Streams{Stdout: &out, Stderr: &out}, api.Caller{})
		if err != nil || out.String() != want {
			t.Errorf("%s: %q, %v; want %q", script, out.String(), err, want)
		}
	}
	made := func(ask api.SessionRequest) api.Session {
		t.Helper()
		s, err := create(ask)
		check(t, err)
		return s
	}
	end := func(s api.Session) {
		t.Helper()
		check(t, h.DeleteSession(s.ID, api.Caller{}))
	}
	await := func(what string, is func() bool) {
		t.Helper()
		for deadline := time.Now().Add(time.Minute); !is(); time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("waited in vain: %s; %d bases are ready", what, h.sessions.Ahead())
			}
		}
	}
	reached := func() bool { f.mu.Lock(); defer f.mu.Unlock(); return f.reached }
	ready := func(n int) {
		t.Helper()
		await(fmt.Sprint(n, " bases"), func() bool { return h.sessions.Ahead() == n })
	}

	// 1. A session causes one base, and the next session gets it, with its own limits and nothing of another.
	first := made(ask)
	ready(1)
	use(first, "echo secret > /box/mine; echo secret > /tmp/mine", "")
	f.set("cell root") // no cell can be built
	larger := ask
	larger.Limits.Scratch = 2 * api.MiB
	s := made(larger)
	await("the base after it is begun", reached)
	use(s, "ls -A /box /tmp; head -c 1500000 /dev/zero > /box/large && echo fits", "/box:\n\n/tmp:\nfits\n")
	if _, err := create(ask); err == nil || !strings.Contains(err.Error(), errFault.Error()) {
		t.Errorf("with no base and no cell: %v", err)
	}
	f.set("")
	end(first)
	end(s)
	if n := h.Health(); n.Sessions != 0 || n.Memory != 0 {
		t.Errorf("held by no session: %+v", n)
	}

	// 2. Whichever step fails, no half of a base is left or given away.
	end(made(ask))
	ready(1)
	before := awaitInventory(t, h.instance.id, time.Minute, unchanged())
	for _, step := range createSteps {
		t.Run(step, func(t *testing.T) {
			f.set(step)
			s, err := create(ask)
			if step == "session watch" { // the session's own
				if err == nil || !strings.Contains(err.Error(), errFault.Error()) {
					t.Errorf("created %q, %v", s.ID, err)
				}
			} else {
				check(t, err)
				await("the next base is begun", reached)
				use(s, "echo ran", "ran\n")
				end(s)
			}

			f.set("")
			end(made(ask))
			ready(1)
			after := awaitInventory(t, h.instance.id, time.Minute, func(now map[string]int) bool { return len(testenv.Added(before, now)) == 0 })
			if added := testenv.Added(before, after); len(added) != 0 {
				t.Errorf("left by the failure:\n  %s", strings.Join(added, "\n  "))
			}
		})
	}

	// 3. A base that has died while it waited is no session's.
	for _, pid := range children(t) {
		_ = syscall.Kill(pid, syscall.SIGKILL)
		await("a cell that was killed has ended", func() bool {
			stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
			return err != nil || strings.Contains(string(stat), ") Z ")
		})
	}
	s = made(ask)
	use(s, "echo ran", "ran\n")
	end(s)

	// 4. Bases of many kinds are bounded, and all places and all memory remain for sessions.
	for i := range 2 * session.MaxAhead {
		kind := larger
		kind.WritableRoot, kind.Limits.Inodes = true, int64(100+i)
		s := made(kind)
		use(s, "echo x > /etc/mine && echo ran", "ran\n")
		end(s)
		if n := h.sessions.Ahead(); n > session.MaxAhead {
			t.Errorf("%d bases are ready, the maximum is %d", n, session.MaxAhead)
		}
	}

	var all []api.Session
	for range places {
		all = append(all, made(ask))
	}
	for _, s := range all {
		use(s, "echo ran", "ran\n")
		end(s)
	}

	// 5. A removed image takes its bases along.
	await("a base", func() bool { return h.sessions.Ahead() > 0 })
	check(t, store.Remove("tiny"))
	h.ImagesRemoved()
	ready(0)
	await("the files of the image are removed", func() bool {
		left, err := filepath.Glob(filepath.Join(store.Dir(), "work", "*"))
		check(t, err)
		return len(left) == 0
	})
	stop()
}
