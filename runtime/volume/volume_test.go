package volume

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/testenv"
	"github.com/brig-sandbox/brig/runtime/linux"
	"github.com/brig-sandbox/brig/runtime/plan"
)

// The kernel's own answer for a file system that it does not have, as it would be for ext4.
func TestVolumesNeedExt4(t *testing.T) {
	testenv.NeedRoot(t)
	store := New(Config{Dir: t.TempDir()}, "6.1.0", slog.New(slog.DiscardHandler))
	_, err := store.openFS("nosuchfs")
	var e *api.Error
	if !errors.As(err, &e) || e.Code != api.CodeUnsupported {
		t.Fatalf("%v; want code %s", err, api.CodeUnsupported)
	}
	for _, word := range []string{"volumes need nosuchfs", "CONFIG_NOSUCHFS_FS", "modprobe nosuchfs", "Linux 6.1.0"} {
		if !strings.Contains(e.Message, word) {
			t.Errorf("%q does not say %q", e.Message, word)
		}
	}
}

// The kernel's own answer for a file system whose ids it cannot shift, as for ext4 before Linux
// 5.12. Without the shift, files would belong to ids that the next cell does not have.
func TestVolumesNeedIdmappedMounts(t *testing.T) {
	testenv.NeedRoot(t)
	store := New(Config{Dir: t.TempDir()}, "5.11.0", slog.New(slog.DiscardHandler))
	userns := slotNamespace(t)
	ctx, err := store.openFS("sysfs") // no kernel can shift its ids
	check(t, err)
	defer unix.Close(ctx)

	check(t, unix.FsconfigCreate(ctx))
	mount, err := unix.Fsmount(ctx, unix.FSMOUNT_CLOEXEC, 0)
	check(t, err)
	hung := os.NewFile(uintptr(mount), "mount")
	defer hung.Close()

	err = store.idmap(hung, userns)
	var e *api.Error
	if !errors.As(err, &e) || e.Code != api.CodeUnsupported {
		t.Fatalf("%v; want code %s", err, api.CodeUnsupported)
	}

	for _, word := range []string{"idmapped mounts", "Linux 5.12", "this host (Linux 5.11.0)"} {
		if !strings.Contains(e.Message, word) {
			t.Errorf("%q does not say %q", e.Message, word)
		}
	}
}

// A session that starts to use a volume while its only other user leaves gets that volume, and not
// the one that is attached next (another key's, or none).
func TestVolumeKeepsItsDeviceWhileSessionsChange(t *testing.T) {
	testenv.NeedRoot(t)
	testenv.NeedTool(t, "mkfs.ext4", "e2fsprogs")
	testenv.CleanHost(t)
	store := New(Config{Dir: t.TempDir()}, "", slog.New(slog.NewTextHandler(t.Output(), nil)))
	userns := slotNamespace(t)
	mount := func(name string) *Mounted {
		ask := api.SessionRequest{Volume: &api.VolumeRequest{Name: name, Size: api.VolumeSizeMin, Shared: true}}
		m, err := store.Mount(t.Context(), &plan.Session{Ask: ask}, name, api.Caller{}, userns)
		check(t, err)
		check(t, unix.Mkdirat(linux.FD(m.AgentMount), "of-"+name, 0o700))
		return m
	}

	leaves := mount("a")
	comes := &Mounted{store: store, path: leaves.path, name: "a", session: "next", shared: true}
	u, first, err := store.join(t.Context(), comes)
	if err != nil || first {
		t.Fatalf("first %v, %v; want to join the user that is there", first, err)
	}

	check(t, leaves.Close())
	other := mount("b")
	check(t, comes.mount(u.at.device, userns))
	var st unix.Stat_t
	if err := unix.Fstatat(linux.FD(comes.AgentMount), "of-a", &st, 0); err != nil {
		t.Errorf("of-a is not there: %v", err)
	}
	if err := unix.Fstatat(linux.FD(comes.AgentMount), "of-b", &st, 0); err != unix.ENOENT {
		t.Errorf("of-b: %v; want none", err)
	}

	check(t, comes.Close())
	check(t, other.Close())
}

// A new user of a volume waits for a session that is ending, and for no other.
func TestVolumeJoinWaitsForEndingSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := New(Config{}, "", slog.New(slog.DiscardHandler))
		user := func(session string) *Mounted {
			return &Mounted{store: store, path: "v", name: "v", session: session, shared: true}
		}
		first, stays := user("first"), user("stays")
		for _, m := range []*Mounted{first, stays} {
			u, made, err := store.join(t.Context(), m)
			check(t, err)
			if made {
				store.attached(u, nil)
			}
		}

		refused := func(holder string) {
			t.Helper()
			_, _, err := store.join(t.Context(), &Mounted{store: store, path: "v", name: "v"})
			var e *api.Error
			if !errors.As(err, &e) || e.Code != api.CodeConflict || e.Session != holder {
				t.Errorf("got %+v; want a conflict with %q", err, holder)
			}
		}

		refused("first")
		first.MarkLeaving()
		refused("stays")
		stays.MarkLeaving()
		next, gone := make(chan error, 1), make(chan error, 1)
		left, cancel := context.WithCancel(t.Context())
		for came, ctx := range map[chan error]context.Context{next: t.Context(), gone: left} {
			go func() {
				_, _, err := store.join(ctx, &Mounted{store: store, path: "v", name: "v", session: "next"})
				came <- err
			}()
		}

		synctest.Wait()
		cancel()
		if err := <-gone; !errors.Is(err, context.Canceled) {
			t.Errorf("a caller that no longer waits gets %v", err)
		}

		check(t, first.Close())
		synctest.Wait()
		select {
		case err := <-next:
			t.Fatalf("it has the volume, or %v, while another user still has it", err)
		default:
		}

		check(t, stays.Close())
		check(t, <-next)
	})
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// slotNamespace returns a user namespace that shifts ids into the range of the first slot.
func slotNamespace(t *testing.T) *os.File {
	t.Helper()
	userns, err := linux.MappedNamespace([]syscall.SysProcIDMap{{ContainerID: 0, HostID: plan.SlotIDs(0), Size: plan.IDCount}})
	check(t, err)
	t.Cleanup(func() { check(t, userns.Close()) })
	return userns
}
