package build

import (
	"archive/tar"
	"context"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"
)

// buildBusybox writes a tar that contains the host's static busybox and a link for each of its
// applets. The same busybox gives the same bytes.
func buildBusybox(ctx context.Context, out io.Writer) error {
	const install = "install it with: apt-get install busybox-static"
	busybox, err := exec.LookPath("busybox")
	if err != nil {
		return fmt.Errorf("busybox is missing: %s", install)
	}

	program, err := os.ReadFile(busybox)
	if err != nil {
		return err
	}
	if err := checkStatic(busybox); err != nil {
		return fmt.Errorf("%w: %s", err, install)
	}

	list, err := exec.CommandContext(ctx, busybox, "--list").Output()
	if err != nil {
		return fmt.Errorf("%s --list: %w", busybox, err)
	}

	applets := strings.Fields(string(list))
	slices.Sort(applets)

	w := &tarMaker{w: tar.NewWriter(out)}
	for _, d := range []string{"bin", "etc", "lib", "root", "usr", "usr/bin", "var"} {
		w.add(&tar.Header{Typeflag: tar.TypeDir, Name: d + "/", Mode: 0o755}, nil)
	}

	w.add(&tar.Header{Typeflag: tar.TypeReg, Name: "bin/busybox", Mode: 0o755}, program)
	for _, a := range slices.Compact(applets) {
		if a != "busybox" && !strings.Contains(a, "/") {
			w.add(&tar.Header{Typeflag: tar.TypeSymlink, Name: "bin/" + a, Linkname: "busybox", Mode: 0o777}, nil)
		}
	}

	for _, a := range []string{"env", "id", "true"} { // scripts expect these in /usr/bin
		w.add(&tar.Header{Typeflag: tar.TypeSymlink, Name: "usr/bin/" + a, Linkname: "/bin/busybox", Mode: 0o777}, nil)
	}

	w.add(&tar.Header{Typeflag: tar.TypeReg, Name: "etc/passwd", Mode: 0o644}, []byte("root:x:0:0:root:/root:/bin/sh\n"))
	w.add(&tar.Header{Typeflag: tar.TypeReg, Name: "etc/group", Mode: 0o644}, []byte("root:x:0:\n"))
	return errors.Join(w.err, w.w.Close())
}

// tarMaker adds members with a fixed time and remembers the first error.
type tarMaker struct {
	w   *tar.Writer
	err error
}

func (m *tarMaker) add(h *tar.Header, content []byte) {
	if m.err != nil {
		return
	}
	h.Size, h.ModTime = int64(len(content)), time.Unix(0, 0)
	if m.err = m.w.WriteHeader(h); m.err == nil {
		_, m.err = m.w.Write(content)
	}
}

// checkStatic refuses a program that needs a loader the image would not have.
func checkStatic(path string) error {
	f, err := elf.Open(path)
	if err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	defer f.Close()
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP {
			return fmt.Errorf("%s is linked dynamically", path)
		}
	}
	return nil
}
