package cell

import (
	"context"
	"os"

	"github.com/brig-sandbox/brig/internal/rollback"
	"github.com/brig-sandbox/brig/runtime/linux"
)

// NewSessionShell makes cellinit create a session's shell, and waits until the shell has mounted the
// scratch and the volume; nil: there is no volume. The shell ends when its socket is closed.
func (c *Cell) NewSessionShell(ctx context.Context, scratch *Scratch,
	volume *os.File) (sock linux.Seqpacket, pidfd *os.File, err error) {
	undo := rollback.On(&err)
	defer undo.Run()

	sock, peer, err := linux.SeqpacketPair(true)
	if err != nil {
		return sock, nil, err
	}
	defer peer.Close()

	undo.Add(sock.Close)
	msg := wireSpawn{Magic: wireMagic, Kind: kindSpawn, Flags: spawnSession}
	if c.Key.FullProc {
		msg.Flags |= spawnFullProc
	}

	files := []*os.File{peer, scratch.Root}
	if volume != nil {
		msg.Flags |= spawnVolume
		files = append(files, volume)
	}
	if err := c.ctrl.Send(encode(&msg), files...); err != nil {
		return sock, nil, err
	}
	if _, pidfd, err = reply(ctx, c.ctrl, kindSpawned); err != nil {
		return sock, nil, err
	}

	undo.Add(pidfd.Close)
	if err := peer.Close(); err != nil { // otherwise the end of the shell would not be seen
		return sock, nil, err
	}
	if _, _, err := reply(ctx, sock, kindReady); err != nil {
		return sock, nil, err
	}

	undo.Release()
	return sock, pidfd, nil
}
