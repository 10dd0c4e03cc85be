package paths

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/testenv"
	"github.com/brig-sandbox/brig/runtime/linux"
	"github.com/brig-sandbox/brig/runtime/mount"
	"github.com/brig-sandbox/brig/runtime/plan"
)

// newTree makes a small root of a cell in a tmpfs: /etc/shadow of root, /tmp of all, /own of the program, /dev
// with a device, and /proc.
func newTree(t *testing.T) (tree *Tree, dir string) {
	t.Helper()
	testenv.NeedRoot(t)
	mounted, err := mount.NewTmpfs(0, [2]string{"size", "8m"}, [2]string{"nr_inodes", "4000"}, [2]string{"mode", "0755"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { mounted.Close() })

	tree = &Tree{Root: mounted, Base: plan.SlotIDs(plan.MaxSlot + 77), UID: plan.UID, GID: plan.GID}
	dir = ProcFD(mounted)
	for _, d := range []struct {
		name string
		mode os.FileMode
		own  bool
	}{{"etc", 0o755, false}, {"tmp", 0o777 | os.ModeSticky, false}, {"own", 0o755, true}, {"closed", 0o700, false}, {"dev", 0o755, false}} {
		name := filepath.Join(dir, d.name)
		must(t, os.Mkdir(name, 0o700))
		must(t, os.Chmod(name, d.mode))
		owner := tree.Base
		if d.own {
			owner += plan.UID
		}
		must(t, os.Chown(name, owner, owner))
	}

	must(t, os.WriteFile(filepath.Join(dir, "etc/shadow"), []byte("secret"), 0o600))
	must(t, os.WriteFile(filepath.Join(dir, "etc/passwd"), []byte("names"), 0o644))
	must(t, os.WriteFile(filepath.Join(dir, "closed/file"), []byte("closed"), 0o644))
	must(t, unix.Mknod(filepath.Join(dir, "dev/zero"), unix.S_IFCHR|0o666, int(unix.Mkdev(1, 5))))
	must(t, os.Chmod(filepath.Join(dir, "dev/zero"), 0o666))
	must(t, os.Chown(filepath.Join(dir, "etc/shadow"), tree.Base, tree.Base))
	return tree, dir
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// own makes the program the owner of what is below /own.
func own(t *testing.T, tree *Tree, dir string) {
	t.Helper()
	id := tree.Base + plan.UID
	must(t, filepath.Walk(filepath.Join(dir, "own"), func(p string, _ os.FileInfo, err error) error {
		return errors.Join(err, os.Lchown(p, id, id))
	}))
}

func put(tree *Tree, name, text string, mode *uint32) error {
	d, err := tree.Create(name, mode, true)
	if err != nil {
		return err
	}
	if _, err := io.WriteString(d.File, text); err != nil {
		return errors.Join(Error(name, err), d.Discard())
	}
	if err := d.Detach(); err != nil {
		return errors.Join(err, d.Discard())
	}
	return d.Place()
}

func get(tree *Tree, name string) (string, error) {
	c, err := tree.Open(name)
	if err != nil {
		return "", err
	}
	defer c.File.Close()
	b, err := io.ReadAll(io.LimitReader(c.File, 1<<20))
	return string(b), err
}

func codeOf(err error) api.Code {
	var e *api.Error
	if errors.As(err, &e) {
		return e.Code
	}
	if err != nil {
		return api.Code("not of the caller: " + err.Error())
	}
	return ""
}

// What is made has the mode that was asked for, no more bits, and the program's owner, whatever umask the agent has.
func TestModes(t *testing.T) {
	tree, _ := newTree(t)
	old := unix.Umask(0o77)
	defer unix.Umask(old)
	m := func(n uint32) *uint32 { return &n }

	want := func(name, permissions string) {
		t.Helper()
		s, err := tree.Status(name, false)
		if err != nil || s.Permissions != permissions || s.Owner != "sandboxuser" || s.Group != "sandboxuser" || s.UID != plan.UID {
			t.Errorf("%s: %+v, %v; want %s", name, s, err, permissions)
		}
	}
	must(t, put(tree, "/own/a/b/file", "x", nil))
	want("/own/a/b/file", "-rw-r--r--")
	want("/own/a/b", "drwxr-xr-x")
	must(t, put(tree, "/own/script", "x", m(0o755)))
	want("/own/script", "-rwxr-xr-x")
	must(t, put(tree, "/own/script", "y", nil))
	want("/own/script", "-rwxr-xr-x")
	must(t, put(tree, "/own/script", "z", m(0o600)))
	want("/own/script", "-rw-------")
	if _, err := tree.MakeDir("/own/d/e", m(0o700)); err != nil {
		t.Fatal(err)
	}
	want("/own/d/e", "drwx------")
	want("/own/d", "drwxr-xr-x")
	must(t, tree.Link("/own/l", "/etc/passwd"))
	want("/own/l", "lrwxrwxrwx")
	if s, err := tree.Status("/own/l", true); err != nil || s.Owner != "root" && s.Owner != "65534" || s.Kind != api.RegularFile {
		t.Errorf("what the link leads to: %+v, %v", s, err)
	}

	// PTH-08: neither replacing a file of the program that has these bits keeps them, nor does a request set them.
	must(t, linux.WithRightsOf(tree.Base+tree.UID, tree.Base+tree.GID, func() error {
		return errors.Join(unix.Fchmodat(linux.FD(tree.Root), "own/script", 0o6755, 0))
	}))
	want("/own/script", "-rwsr-sr-x")
	must(t, put(tree, "/own/script", "again", nil))
	want("/own/script", "-rwxr-xr-x")
	for _, bad := range []string{"4755", "02755", "1777", "7", "999", "0x1ff", "-1", "+644", "00644", "rw", "0o644", " 644"} {
		got, err := api.ParseMode(bad)
		if bad == "7" && (err != nil || got != 7) || bad != "7" && codeOf(err) != api.CodeBadFile {
			t.Errorf("mode %q: %o, %v", bad, got, err)
		}
	}
}

// PTH-04: the thread has the program's ids and nothing else, and the process keeps its own.
func TestThreadHasTheRightsOfTheProgram(t *testing.T) {
	tree, _ := newTree(t)
	before := status(t, "self")
	for range 20 {
		must(t, tree.do(func() error {
			seen := status(t, "thread-self")
			id := tree.Base + plan.UID
			for _, want := range []string{
				fmt.Sprintf("Uid:\t%d\t%d\t%d\t%d\n", id, id, id, id), fmt.Sprintf("Gid:\t%d\t%d\t%d\t%d\n", id, id, id, id),
				"Groups:\t \n", "CapInh:\t0000000000000000\n", "CapPrm:\t0000000000000000\n", "CapEff:\t0000000000000000\n",
				"CapAmb:\t0000000000000000\n",
			} {
				if !strings.Contains(seen, want) {
					return fmt.Errorf("the thread has\n%s\nwant %q", seen, want)
				}
			}
			if unix.Gettid() == unix.Getpid() {
				return errors.New("it is the first thread of the process")
			}
			return nil
		}))
	}
	for _, line := range []string{"Uid", "Gid", "Groups", "CapPrm", "CapEff"} {
		if a, b := field(before, line), field(status(t, "self"), line); a != b {
			t.Errorf("%s of the process: %q before, %q after", line, a, b)
		}
	}
	if os.Geteuid() != 0 {
		t.Error("the test lost its rights")
	}
}

func status(t *testing.T, of string) string {
	b, err := os.ReadFile("/proc/" + of + "/status")
	if err != nil {
		t.Error(err)
	}
	return string(b)
}

func field(status, name string) string {
	_, rest, _ := strings.Cut(status, name+":")
	value, _, _ := strings.Cut(rest, "\n")
	return value
}

// PTH-01: while a program exchanges directories and links, nothing outside of the root is read, written, made or
// removed, and nothing that the program could not do itself. The control shows that the names do lead there by path.
func TestLinksSwappedDuringOperations(t *testing.T) {
	tree, dir := newTree(t)
	victim := t.TempDir()
	must(t, os.Chmod(victim, 0o777)) // the rights would permit it: only the root keeps it out
	must(t, os.Chmod(filepath.Dir(victim), 0o755))
	must(t, os.WriteFile(victim+"/file", []byte("of the host"), 0o666))
	must(t, os.Chmod(victim+"/file", 0o666))
	must(t, os.Mkdir(filepath.Join(dir, "own/real"), 0o755))
	must(t, os.WriteFile(filepath.Join(dir, "own/real/file"), []byte("inside"), 0o644))
	must(t, os.Symlink(victim, filepath.Join(dir, "own/evil")))
	must(t, os.Symlink("../../../../../../../.."+victim, filepath.Join(dir, "own/climb")))
	own(t, tree, dir)
	if b, err := os.ReadFile(filepath.Join(dir, "own/evil/file")); err != nil || string(b) != "of the host" {
		t.Fatalf("control: %q, %v", b, err)
	}

	var over atomic.Bool
	swapping := make(chan struct{})
	go func() {
		defer close(swapping)
		root := linux.FD(tree.Root)
		for !over.Load() {
			for _, link := range []string{"own/evil", "own/climb"} {
				_ = unix.Renameat2(root, "own/real", root, link, unix.RENAME_EXCHANGE)
				_ = unix.Renameat2(root, "own/real", root, link, unix.RENAME_EXCHANGE)
			}
		}
	}()

	inside := 0
	for end := time.Now().Add(2 * time.Second); time.Now().Before(end); {
		if text, err := get(tree, "/own/real/file"); err == nil && text == "of the host" {
			t.Fatal("a file of the host was read")
		} else if err == nil {
			inside++
		}
		_ = put(tree, "/own/real/file", "inside", nil)
		_ = put(tree, "/own/real/new/x", "inside", nil)
		_, _ = tree.MakeDir("/own/real/made", nil)
		_ = tree.Link("/own/real/link", "x")
		_ = tree.Remove(t.Context(), "/own/real/new", true)
		if l, err := tree.List(t.Context(), "/own", api.PathListing{Depth: 3, Limit: 100}); err == nil {
			for _, e := range l.Entries {
				if strings.HasPrefix(e.Path, "/own/evil/") && e.Kind == api.Symlink && e.Target == "" {
					t.Fatalf("%+v", e)
				}
			}
		}
	}
	over.Store(true)
	<-swapping
	if inside == 0 {
		t.Error("the file was never read at all")
	}
	left, err := os.ReadDir(victim)
	b, rerr := os.ReadFile(victim + "/file")
	if err != nil || rerr != nil || len(left) != 1 || string(b) != "of the host" {
		t.Errorf("outside: %v, %q, %v, %v", left, b, err, rerr)
	}
}

// A list has pages, in one order, also of a directory that has many entries, and names that are not UTF-8.
func TestListInPages(t *testing.T) {
	tree, dir := newTree(t)
	home := filepath.Join(dir, "own")
	var want []string
	for i := range 30 {
		sub := fmt.Sprintf("d%02d", i)
		must(t, os.MkdirAll(filepath.Join(home, sub, "inner"), 0o755))
		want = append(want, "/own/"+sub)
		for j := range 5 {
			name := fmt.Sprintf("f\xff%d", j)
			must(t, os.WriteFile(filepath.Join(home, sub, name), nil, 0o644))
			want = append(want, "/own/"+sub+"/"+name)
		}
		want = append(want, "/own/"+sub+"/inner")
	}
	own(t, tree, dir)

	for _, limit := range []int{1, 2, 3, 7, 100, 10_000} {
		var got []string
		l := api.PathListing{Depth: 2, Limit: limit}
		for pages := 0; ; pages++ {
			page, err := tree.List(t.Context(), "/own", l)
			if err != nil || len(page.Entries) > limit || pages > len(want) {
				t.Fatalf("page %d of %d: %d entries, %v", pages, limit, len(page.Entries), err)
			}
			for _, e := range page.Entries {
				got = append(got, e.Raw())
			}
			if page.Next == "" {
				break
			}
			if l.After, err = api.ParseCursor(page.Next, "/own"); err != nil {
				t.Fatal(err)
			}
		}
		if fmt.Sprintf("%q", got) != fmt.Sprintf("%q", want) {
			t.Errorf("in pages of %d:\n%q\nwant\n%q", limit, got, want)
		}
	}

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := tree.List(ctx, "/own", api.PathListing{Depth: 2, Limit: 10}); !errors.Is(err, context.Canceled) {
		t.Errorf("a list whose request has ended: %v", err)
	}
	if err := tree.Remove(ctx, "/own/d00", true); !errors.Is(err, context.Canceled) {
		t.Errorf("a removal whose request has ended: %v", err)
	}
}

// A file that does not fit changes nothing, and nothing of it stays.
func TestFullFileSystem(t *testing.T) {
	tree, dir := newTree(t)
	must(t, put(tree, "/own/file", "old", nil))
	err := put(tree, "/own/file", strings.Repeat("x", 9<<20), nil)
	if codeOf(err) != api.CodeNoSpace {
		t.Errorf("9 MiB in 8: %v", err)
	}
	if text, err := get(tree, "/own/file"); err != nil || text != "old" {
		t.Errorf("after that: %q, %v", text, err)
	}
	names, err := os.ReadDir(filepath.Join(dir, "own"))
	if err != nil || len(names) != 1 {
		t.Errorf("left: %v, %v", names, err)
	}
	for i := 0; err == nil && i < 5000; i++ {
		err = put(tree, fmt.Sprintf("/own/many/%d", i), "", nil)
	}
	if codeOf(err) != api.CodeNoSpace {
		t.Errorf("more files than inodes: %v", err)
	}
	must(t, tree.Remove(t.Context(), "/own/many", true))
	must(t, put(tree, "/own/file", "fits", nil))
}

// PTH-02, PTH-03: nothing is opened, described or listed in file systems of the kernel, and links that are no names
// lead nowhere.
func TestFilesOfTheKernelAreRefused(t *testing.T) {
	testenv.NeedRoot(t)
	host, err := os.OpenFile("/", unix.O_PATH|unix.O_DIRECTORY, 0)
	must(t, err)
	defer host.Close()
	tree := &Tree{Root: host, Base: plan.SlotIDs(plan.MaxSlot + 77), UID: plan.UID, GID: plan.GID}
	for _, name := range []string{"/proc", "/proc/1/root", "/proc/1/root/etc/passwd", "/proc/self/root/etc/passwd", "/proc/self/fd/0",
		"/proc/thread-self/cwd", "/proc/self/exe", "/proc/sys/kernel/hostname", "/proc/1/environ", "/proc/version", "/sys/kernel",
		"/proc/self/ns/mnt", "/proc/self/fd"} {
		_, serr := tree.Status(name, true)
		_, gerr := get(tree, name)
		_, lerr := tree.List(t.Context(), name, api.PathListing{Depth: 2, Limit: 10})
		for what, err := range map[string]error{"stat": serr, "get": gerr, "list": lerr} {
			if c := codeOf(err); c != api.CodeFileDenied && c != api.CodeNotFound {
				t.Errorf("%s %s: %v", what, name, err)
			}
		}
	}
	l, err := tree.List(t.Context(), "/", api.PathListing{Depth: 2, Limit: 10_000})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range l.Entries {
		if strings.HasPrefix(e.Path, "/proc/") || strings.HasPrefix(e.Path, "/sys/") {
			t.Errorf("listed: %s", e.Path)
		}
	}
}

// PTH-06: a FIFO does not block, and neither does a lease.
func TestNothingBlocks(t *testing.T) {
	tree, dir := newTree(t)
	must(t, os.WriteFile(filepath.Join(dir, "own/leased"), []byte("x"), 0o644))
	must(t, unix.Mkfifo(filepath.Join(dir, "own/fifo"), 0o666))
	own(t, tree, dir)
	f, err := os.OpenFile(filepath.Join(dir, "own/leased"), os.O_RDWR, 0)
	must(t, err)
	defer f.Close()
	if _, err := unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_WRLCK); err != nil {
		t.Fatal("control: no lease: ", err)
	}
	if _, err := get(tree, "/own/leased"); codeOf(err) != api.CodeFileConflict {
		t.Errorf("a file with a lease: %v", err)
	}
	if _, err := get(tree, "/own/fifo"); codeOf(err) != api.CodeFileConflict {
		t.Errorf("a FIFO: %v", err)
	}
}

// Deep directories, and long names, are removed or refused, and nothing but them.
func TestRemoveDeep(t *testing.T) {
	tree, dir := newTree(t)
	deep := "/own" + strings.Repeat("/d", 40)
	must(t, put(tree, deep+"/x", "x", nil))
	must(t, os.Symlink("/etc", filepath.Join(dir, "own/d/d/out")))
	must(t, tree.Remove(t.Context(), "/own/d", true))
	if _, err := tree.Status("/own/d", false); codeOf(err) != api.CodeNotFound {
		t.Errorf("removed: %v", err)
	}
	must(t, put(tree, "/own"+strings.Repeat("/d", 100)+"/x", "x", nil))
	if err := tree.Remove(t.Context(), "/own/d", true); codeOf(err) != api.CodeFileConflict {
		t.Errorf("100 levels: %v", err)
	}
	if b, err := os.ReadFile(filepath.Join(dir, "etc/passwd")); err != nil || !bytes.Equal(b, []byte("names")) {
		t.Errorf("what a link led to: %q, %v", b, err)
	}
}
