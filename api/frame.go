package api

import (
	"encoding/binary"
	"fmt"
	"io"
)

// StreamProtocol is the HTTP/1.1 upgrade for streaming POST /v1/runs and the exec of a session:
// after the 101, both sides send frames. A client that closes its sending side cancels the run and
// may still read the answer.
const StreamProtocol = "brig-stream/1"

// UsageHeader is a request header. With any value in it, the agent sends frames with the run's
// resource usage while it runs.
const UsageHeader = "Brig-Usage"

// A FrameType is the first byte of a frame.
type FrameType byte

// The frames. A run ends with exactly one FrameResult or FrameFailure.
const (
	FrameStdin    FrameType = 'i' // to the agent: bytes for the program's stdin
	FrameStdinEnd FrameType = 'e' // to the agent: end of file on stdin
	FrameResize   FrameType = 'z' // to the agent: a TTY, the new size of the terminal
	FrameSignal   FrameType = 'g' // to the agent: of an exec, the Signal that its program gets
	FrameControl  FrameType = 'm' // in both directions: of an exec with control, bytes for descriptor 3, or from 4
	FrameCancel   FrameType = 'c' // to the agent: end the run as canceled

	FrameAdmitted FrameType = 't' // to the client: the run has its slot; stdin is sent only now, so that a refused run has consumed none of it
	FrameTaken    FrameType = 'a' // to the client: of a resident, what its pipes have taken of a window, see Taken
	FrameStdout   FrameType = 'o' // to the client: bytes the program wrote
	FrameStderr   FrameType = 'x'
	FrameCompiled FrameType = 'k' // to the client: the Compilation; the program starts now
	FrameTest     FrameType = 'q' // to the client: a TestResult, as soon as the test has ended
	// to the client: two sockets for names (UDP, TCP), then listening sockets of the run's network, as attached
	// descriptors
	FrameNetwork FrameType = 'n'
	FrameUsage   FrameType = 'u' // to the client, if the request had UsageHeader: a LiveUsage
	FramePart    FrameType = 'p' // to the client: a piece of JSON that the next FrameCompiled, FrameTest or FrameResult completes
	FrameResult  FrameType = 'r' // to the client: the Result, without the streamed output
	FrameFailure FrameType = 'f' // to the client: an Error
)

// A frame is its type, the length of its payload as 4 bytes little-endian, and
// the payload.
const (
	FrameHeader = 5
	FrameMax    = 64 << 10 // bytes of payload
)

// PutFrameHeader writes the header of a frame with n bytes of payload to b.
func PutFrameHeader(b []byte, t FrameType, n int) {
	b[0] = byte(t)
	binary.LittleEndian.PutUint32(b[1:FrameHeader], uint32(n))
}

// ReadFrame reads one frame into buf, which holds at least FrameMax bytes, and
// returns its payload. It returns io.EOF only between frames.
func ReadFrame(r io.Reader, buf []byte) (FrameType, []byte, error) {
	var head [FrameHeader]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return 0, nil, err
	}

	n := binary.LittleEndian.Uint32(head[1:])
	if n > FrameMax {
		return 0, nil, fmt.Errorf("frame %q has %d bytes: the maximum is %d", head[0], n, FrameMax)
	}
	if _, err := io.ReadFull(r, buf[:n]); err != nil {
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return 0, nil, err
	}

	return FrameType(head[0]), buf[:n], nil
}
