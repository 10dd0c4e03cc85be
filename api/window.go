package api

import (
	"encoding/binary"
	"fmt"
)

// Window is how many bytes of stdin, and as many of control, a client may have sent to a resident that the agent has not
// reported as taken (FrameTaken). So a program that does not read keeps no signal and no size of a terminal from it: the
// agent reads all frames. Others have no window: the connection itself holds the client back.
const Window = FrameMax

// Taken is the payload of a FrameTaken: a pipe of the program has taken n more bytes of what came in frames of type t.
func Taken(t FrameType, n int) []byte {
	return binary.LittleEndian.AppendUint32([]byte{byte(t)}, uint32(n))
}

// ReadTaken reads the payload of a FrameTaken.
func ReadTaken(payload []byte) (FrameType, int, error) {
	if len(payload) != 5 {
		return 0, 0, fmt.Errorf("a frame of %d bytes says what was taken: want 5", len(payload))
	}

	n := binary.LittleEndian.Uint32(payload[1:])
	t := FrameType(payload[0])
	if n > Window || t != FrameStdin && t != FrameControl {
		return 0, 0, fmt.Errorf("a frame says that %d bytes of %q were taken: there is no such window", n, payload[0])
	}
	return t, int(n), nil
}
