package image

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

	"github.com/brig-sandbox/brig/runtime/linux"
)

// imageFilesELF is the child that reads the files of images; `make` builds it from
// imagefiles/.
//
//go:embed imagefiles/imagefiles.elf
var imageFilesELF []byte

// An imageChild is a process of ours that reads the files of one image. It is in the agent's own
// group, so that the pages it reads first are charged there. It has only the privileges that it
// needs. The kernel kills it when our end of its pipe is closed.
type imageChild struct {
	cmd      *exec.Cmd
	sock     linux.Seqpacket
	lifeline *os.File // nothing is written to it
}

// imageMessage is a message to or from the child; imagefiles/imagefiles.h defines the same.
type imageMessage struct{ Kind, A, B, C, D uint64 }

const (
	imageFailed = 1 + iota // A: the step, B: errno
	imageWanted            // A: bytes of all files in whole pages, B: files
	imageGrant             // A: bytes it may lock; for a copy the first host id, and B: see copy.c
	imageHeld              // A: bytes, B: files
	imageCopied            // A: bytes of all files, B: entries
)

// imageSteps names the steps that imagefiles.h numbers.
var imageSteps = [...]string{
	"none", "drop privileges", "open", "list", "stat", "map", "lock", "make", "write", "chown", "chmod", "utimensat",
	"link", "end with the agent", "file kind",
}

// startChild starts a child on a tree. The files still belong to the caller.
func (i *Images) startChild(what string, tree *os.File, more ...*os.File) (_ *imageChild, err error) {
	sock, peer, err := linux.SeqpacketPair(true)
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
	cmd.ExtraFiles = append([]*os.File{i.program, tree, peer, ending}, more...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return nil, errors.Join(fmt.Errorf("start imagefiles: %w", err), sock.Close(), life.Close())
	}

	c := &imageChild{cmd, sock, life}

	// If memory runs out, the kernel kills this child before the agent: all that it holds is freed,
	// and it is read again when it is needed.
	file := "/proc/" + strconv.Itoa(cmd.Process.Pid) + "/oom_score_adj"
	if err := os.WriteFile(file, []byte(strconv.Itoa(i.oomScoreAdj)), 0); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

func (c *imageChild) send(w imageMessage) error {
	var b bytes.Buffer
	if err := binary.Write(&b, binary.NativeEndian, w); err != nil {
		return err
	}
	return c.sock.Send(b.Bytes())
}

// receive waits for the next message, which must have the given kind; the end of ctx ends the wait.
func (c *imageChild) receive(ctx context.Context, kind uint64) (w imageMessage, err error) {
	stop := context.AfterFunc(ctx, func() { c.sock.File.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()

	buf := make([]byte, binary.Size(w))
	file, err := c.sock.Recv(buf)
	switch {
	case ctx.Err() != nil:
		return w, ctx.Err()
	case errors.Is(err, io.EOF):
		return w, errors.New("imagefiles ended without a message; the kernel log may have the reason")
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

// Close ends the child and waits for it. That unlocks the memory it held.
func (c *imageChild) Close() error {
	err := errors.Join(c.sock.Close(), c.lifeline.Close())
	if kerr := c.cmd.Process.Kill(); kerr != nil && !errors.Is(kerr, os.ErrProcessDone) { // it may still be reading
		err = errors.Join(err, kerr)
	}
	if werr := c.wait(); werr != nil {
		var exit *exec.ExitError
		if !errors.As(werr, &exit) { // its exit status is reported where it matters
			err = errors.Join(err, werr)
		}
	}
	return err
}
