// Package execsocket has the messages of an exec over a WebSocket (RFC 6455): those of kubectl exec, and the plain ones
// of a page with a terminal. All functions are pure; service/sessions has the connection.
package execsocket

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/brig-sandbox/brig/api"
)

// The subprotocols of Kubernetes: the first byte of each message is its channel
// (k8s.io/apimachinery, pkg/util/remotecommand). The older one cannot end stdin alone. Without a subprotocol each message
// is what is typed, or what the program wrote: xterm.js (addon attach), websocat and wscat speak that.
//
// Brig is the newer one with two channels more: signals of the client, and events of the service.
const (
	Brig  = "brig.exec.v1"
	V5    = "v5.channel.k8s.io"
	V4    = "v4.channel.k8s.io"
	Plain = ""
)

// Subprotocols are those with a name, the best first. The caller owns the slice.
func Subprotocols() []string { return []string{Brig, V5, V4} }

// The channels of messages.
const (
	stdin  byte = 0
	Stdout byte = 1
	Stderr byte = 2
	Status byte = 3   // the last message: how the program ended
	resize byte = 4   // {"Width": 80, "Height": 24}
	signal byte = 5   // the name of a signal; Brig only
	Events byte = 6   // an Event; Brig only
	end    byte = 255 // and the number of a channel that the client will not write to any more; V5 and Brig
)

// A Kind says what a message of a client is.
type Kind int

// The kinds.
const (
	Input    Kind = iota // bytes for stdin: what is left of the message
	InputEnd             // stdin has ended
	Resize               // the terminal has another size
	Signal               // the program gets a signal
)

// A Message is the beginning of a message of a client.
type Message struct {
	Kind   Kind       // of Input, the rest of the message is the input
	Size   api.TTY    // of Resize
	Signal api.Signal // of Signal
}

// An Event is what the service tells apart from output. One of the fields is set.
type Event struct {
	Started *Started     `json:"started,omitempty"` // the program has started, or the client is connected to it
	Offset  *int64       `json:"offset,omitempty"`  // the next byte of output has this offset
	Gap     int64        `json:"gap,omitempty"`     // so many bytes in front of it are not kept any more
	Result  *api.Result  `json:"result,omitempty"`  // how the program has ended
	Error   *api.Problem `json:"error,omitempty"`   // why there is no result
}

// Started names a process. Of an exec the number is zero.
type Started struct {
	PID int `json:"pid,omitempty"`
}

// Encode is the payload of an event.
func (e Event) Encode() []byte {
	text, err := json.Marshal(e)
	if err != nil {
		panic("BUG: an event that is no JSON: " + err.Error()) // as a response it would be none either
	}
	return text
}

// The codes of a close frame in addition to those of RFC 6455.
const (
	TakenOver    = 4001 // another client is connected instead
	SessionEnded = 4002
)

// maxSize is the length of the longest message with a size.
const maxSize = 256

// Read reads the beginning of a message of a client.
func Read(subprotocol string, r io.Reader) (m Message, err error) {
	if subprotocol == Plain {
		return m, nil
	}

	var channel [1]byte
	if _, err := io.ReadFull(r, channel[:]); err != nil {
		return m, fmt.Errorf("a message without its channel, the first byte: %w", err)
	}

	switch {
	case channel[0] == stdin:
		return m, nil
	case channel[0] == resize:
		m.Kind = Resize
		m.Size, err = readSize(r)
		return m, err
	case channel[0] == signal && subprotocol == Brig:
		m.Kind = Signal
		m.Signal, err = readSignal(r)
		return m, err
	case channel[0] == end && subprotocol != V4:
		var which [1]byte
		if _, err := io.ReadFull(r, which[:]); err != nil || which[0] != stdin {
			return m, fmt.Errorf("channel %d ends: a client can only end channel %d, stdin", which[0], stdin)
		}
		m.Kind = InputEnd
		return m, nil
	}
	return m, fmt.Errorf("a message for channel %d: use %d for stdin and %d for the size of the terminal", channel[0], stdin, resize)
}

func readSignal(r io.Reader) (api.Signal, error) {
	name, err := io.ReadAll(io.LimitReader(r, maxSize))
	if err != nil {
		return "", err
	}
	s := api.Signal(name)
	return s, s.Validate()
}

func readSize(r io.Reader) (api.TTY, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxSize+1))
	if err != nil {
		return api.TTY{}, err
	}
	if len(text) > maxSize {
		return api.TTY{}, fmt.Errorf("a size has more than %d bytes", maxSize)
	}

	var size struct{ Width, Height int }
	if err := json.Unmarshal(text, &size); err != nil {
		return api.TTY{}, fmt.Errorf("a size is {\"Width\": 80, \"Height\": 24}: %w", err)
	}

	tty := api.TTY{Rows: size.Height, Cols: size.Width}
	return tty, tty.Validate()
}

// Append appends the message for a channel of the server to b.
func Append(b []byte, subprotocol string, channel byte, payload []byte) []byte {
	if subprotocol != Plain {
		b = append(b, channel)
	}
	return append(b, payload...)
}
