package cgroups

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

func mkdirAll(p string) error { return os.MkdirAll(p, 0o755) }

// need skips on a machine that cannot run privileged tests, and fails where they
// must run (BRIG_TEST_MUST=1).
func need(t testing.TB, ok bool, what string) {
	t.Helper()
	if ok {
		return
	}
	if os.Getenv("BRIG_TEST_MUST") == "1" {
		t.Fatalf("this test must run here and needs %s", what)
	}
	t.Skipf("needs %s", what)
}

// newTree makes a tree on the real host and checks at the end that nothing of it is left.
func newTree(t testing.TB) (*Tree, []string) {
	t.Helper()
	need(t, os.Geteuid() == 0, "root")
	h, err := Probe()
	if err != nil {
		need(t, false, err.Error())
	}
	return newTreeOn(t, h)
}

func newTreeOn(t testing.TB, h *Host) (*Tree, []string) {
	t.Helper()
	if err := h.Check(); err != nil {
		need(t, false, err.Error())
	}

	before, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		t.Fatal(err)
	}

	instance := "test-" + strconv.Itoa(os.Getpid())
	var recorded []string
	tree, err := Create(h, instance, func(p string) error {
		if exists(p) {
			t.Errorf("%s was made before it was recorded", p)
		}
		recorded = append(recorded, p)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() {
		if err := tree.Remove(); err != nil {
			t.Error(err)
		}

		for _, hy := range h.Hierarchies {
			err := filepath.WalkDir(hy.Mount, func(p string, d fs.DirEntry, err error) error {
				if err == nil && d.IsDir() && d.Name() == prefix+instance {
					t.Errorf("left behind: %s", p)
				}
				return nil // other groups may be created and removed during the walk
			})
			if err != nil {
				t.Error(err)
			}
		}

		if after, err := os.ReadFile("/proc/self/cgroup"); err != nil || string(after) != string(before) {
			t.Errorf("own groups were\n%s, now\n%s (%v)", before, after, err)
		}
	})

	return tree, recorded
}

func newLeaf(t testing.TB) *Leaf {
	t.Helper()
	tree, _ := newTree(t)
	return newLeafIn(t, tree)
}

func newLeafIn(t testing.TB, tree *Tree) *Leaf {
	t.Helper()
	cell, err := tree.Cell("c0", 0)
	if err != nil {
		t.Fatal(err)
	}

	leaf, err := cell.NewLeaf("r0")
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() {
		if err := leaf.Remove(); err != nil {
			t.Error(err)
		}
	})

	return leaf
}

// start runs a shell script inside the leaf: cloned into it on cgroup2, joined by
// writing 0 to tasks on version 1.
func start(t testing.TB, l *Leaf, script string) *exec.Cmd {
	t.Helper()
	var join strings.Builder
	files := l.JoinFiles()
	for i := range files {
		n := strconv.Itoa(3 + i)
		join.WriteString("echo 0 >&" + n + " || exit 99; exec " + n + ">&-; ")
	}

	cmd := exec.Command("/bin/sh", "-c", join.String()+script)
	cmd.ExtraFiles = files
	cmd.Env = []string{"PATH=/usr/bin:/bin"}
	if l.Dir() != nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{UseCgroupFD: true, CgroupFD: int(l.Dir().Fd())}
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd
}

func apply(t testing.TB, l *Leaf, want Limits) {
	t.Helper()
	if err := l.Apply(want); err != nil {
		t.Fatal(err)
	}
	if err := l.Begin(); err != nil {
		t.Fatal(err)
	}
}

func usage(t testing.TB, l *Leaf) Usage {
	t.Helper()
	u, err := l.Usage()
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// eventuallyEmpty waits until the leaf is empty.
func eventuallyEmpty(t testing.TB, l *Leaf) {
	t.Helper()

	for end := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		empty, err := l.Empty()
		if err != nil {
			t.Fatal(err)
		}
		if empty {
			return
		}
		if time.Now().After(end) {
			t.Fatal("processes are left in the leaf")
		}
	}
}
