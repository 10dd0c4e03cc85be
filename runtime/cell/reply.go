package cell

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/runtime/linux"
)

// SetupTimeout is the error when a cell did not answer within replyTime: the host is overloaded, or
// the agent's log may have the reason. It does not mean that a resource is missing.
func SetupTimeout() error {
	return api.Fail(api.CodeSetupTimeout,
		"setting up the sandbox took longer than %s: lower the load on this host, or use fewer slots, and send the "+
			"run again later", replyTime)
}

// replyTime limits how long cellinit may take to answer, on a loaded host.
const replyTime = 20 * time.Second

// reply waits for the next message of cellinit, or of a session's shell.
func reply(ctx context.Context, s linux.Seqpacket, kind uint32) (Reply, *os.File, error) {
	if err := s.File.SetReadDeadline(time.Now().Add(replyTime)); err != nil {
		return Reply{}, nil, err
	}

	stop := context.AfterFunc(ctx, func() { s.File.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()

	buf := make([]byte, ReplySize)
	file, err := s.Recv(buf)
	if errors.Is(err, io.EOF) {
		return Reply{}, nil, errors.New("cellinit ended without a message; the kernel log may have the reason")
	}
	if errors.Is(err, os.ErrDeadlineExceeded) && ctx.Err() == nil {
		return Reply{}, file, SetupTimeout()
	}
	if err != nil {
		return Reply{}, file, fmt.Errorf("wait for cellinit: %w", err)
	}

	r, err := decodeReply(buf, kind)
	return r, file, err
}
