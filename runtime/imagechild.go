package runtime

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// imageFilesELF is the child that reads the files of images; `make` builds it from
// imagefiles/.
//
//go:embed imagefiles/imagefiles.elf
var imageFilesELF []byte

// An imageChild is a process of ours that reads the files of one image. It is in the agent's
// own group, so what it reads first is charged there, and has no privilege but those it
// needs. The kernel kills it when our end of its pipe is closed.
type imageChild struct {
	cmd  *exec.Cmd
	sock seqpacket
	life *os.File // nothing is written to it
}

// An imageWord is a message of it or to it, the same as in imagefiles/imagefiles.h.
type imageWord struct{ Kind, A, B, C, D uint64 }

const (
	imageFailed = 1 + iota // A: the step, B: errno
	imageWanted            // A: bytes of all files in whole pages, B: files
	imageGrant             // A: bytes it may hold; of a copy the first host id, and B: see copy.c
	imageHeld              // A: bytes, B: files
	imageCopied            // A: bytes of all files, B: entries
)

// imageSteps names what imagefiles.h numbers.
var imageSteps = [...]string{
	"none", "drop privileges", "open", "list", "stat", "map", "lock", "make", "write", "chown", "chmod", "utimensat", "link", "end with the agent", "file kind",
}

// startImageChild starts one on a tree. The files stay the caller's.
func (h *Host) startImageChild(what string, tree *os.File, more ...*os.File) (_ *imageChild, err error) {
	sock, peer, err := seqpacketPair(true)
	if err != nil {
		return nil, err
	}
	defer peer.Close()
	ending, life, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, sock.Close())
	}
	defer ending.Close()
	cmd := exec.Command("/proc/self/fd/3", what)
	cmd.Args[0] = "imagefiles"
	cmd.Env, cmd.Dir = []string{}, "/"
	cmd.ExtraFiles = append([]*os.File{h.imageFiles, tree, peer, ending}, more...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return nil, errors.Join(fmt.Errorf("start imagefiles: %w", err), sock.Close(), life.Close())
	}
	c := &imageChild{cmd, sock, life}
	// Short of memory the kernel takes this child before the agent: what it holds is given
	// back whole, and read again when it is needed.
	file := "/proc/" + strconv.Itoa(cmd.Process.Pid) + "/oom_score_adj"
	if err := os.WriteFile(file, []byte(strconv.Itoa(h.badness)), 0); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

func (c *imageChild) say(w imageWord) error {
	var b bytes.Buffer
	if err := binary.Write(&b, binary.NativeEndian, w); err != nil {
		return err
	}
	return c.sock.send(b.Bytes())
}

// hear waits for the next message, which must be of a kind; ctx ends the wait.
func (c *imageChild) hear(ctx context.Context, kind uint64) (w imageWord, err error) {
	stop := context.AfterFunc(ctx, func() { c.sock.file.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()
	buf := make([]byte, binary.Size(w))
	file, err := c.sock.recv(buf)
	switch {
	case ctx.Err() != nil:
		return w, ctx.Err()
	case errors.Is(err, io.EOF):
		return w, errors.New("imagefiles ended without a word; the kernel log may say why")
	case err != nil:
		return w, fmt.Errorf("wait for imagefiles: %w", err)
	case file != nil:
		return w, errors.Join(errors.New("BUG: imagefiles sent a descriptor"), file.Close())
	}
	if _, err := binary.Decode(buf, binary.NativeEndian, &w); err != nil {
		return w, err
	}
	if w.Kind == imageFailed && w.A < uint64(len(imageSteps)) {
		return w, fmt.Errorf("imagefiles: %s: %w", imageSteps[w.A], unix.Errno(w.B))
	}
	if w.Kind != kind {
		return w, fmt.Errorf("BUG: imagefiles sent message %d; want %d", w.Kind, kind)
	}
	return w, nil
}

// wait waits until the child has ended.
func (c *imageChild) wait() error { return c.cmd.Wait() }

// Close ends the child and waits for it. What it held is given back then.
func (c *imageChild) Close() error {
	err := errors.Join(c.sock.Close(), c.life.Close())
	if kerr := c.cmd.Process.Kill(); kerr != nil && !errors.Is(kerr, os.ErrProcessDone) { // it may be reading still
		err = errors.Join(err, kerr)
	}
	if werr := c.wait(); werr != nil {
		var exit *exec.ExitError
		if !errors.As(werr, &exit) { // how it ended is told where it matters
			err = errors.Join(err, werr)
		}
	}
	return err
}
