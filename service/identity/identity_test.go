package identity

import (
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
)

// A socket that the service will not be able to use is reported before images are built.
func TestSocketIsCheckedBeforePrivilegesAreDropped(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root, to give sockets away")
	}

	top, err := os.MkdirTemp("", "brig")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(top)

	dir := filepath.Join(top, "d")
	socket := filepath.Join(dir, "s")
	if err := errors.Join(os.Chmod(top, 0o755), os.Mkdir(dir, 0o755)); err != nil {
		t.Fatal(err)
	}

	ln, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()

	for _, tt := range []struct {
		mode, dirMode os.FileMode
		uid, gid      int
		may           bool
	}{
		{0o600, 0o755, 0, 0, false},
		{0o660, 0o755, 0, 0, false}, // the service does not keep root's group
		{0o660, 0o755, 0, 60, true},
		{0o640, 0o755, 0, 60, false},
		{0o666, 0o755, 0, 0, true},
		{0o600, 0o755, FallbackID, 0, true},
		{0o066, 0o755, FallbackID, 60, false}, // the owner's part decides
		{0o660, 0o750, 0, 60, false},
		{0o660, 0o711, 0, 60, true},
	} {
		if err := errors.Join(os.Chmod(socket, tt.mode), os.Chown(socket, tt.uid, tt.gid), os.Chmod(dir, tt.dirMode)); err != nil {
			t.Fatal(err)
		}

		err := ID{FallbackID, FallbackID}.CanUse(socket)
		if (err == nil) != tt.may {
			t.Errorf("%+v: %v", tt, err)
		}

		// The kernel decides the same for a process with that identity.
		c := exec.Command("test", "-r", socket, "-a", "-w", socket)
		groups, _ := groupsFor(socket)
		cred := &syscall.Credential{Uid: FallbackID, Gid: FallbackID}
		for _, g := range groups {
			cred.Groups = append(cred.Groups, uint32(g))
		}

		c.SysProcAttr = &syscall.SysProcAttr{Credential: cred}
		if may := c.Run() == nil; may != tt.may {
			t.Errorf("%+v: the kernel says %v", tt, may)
		}
	}
}
