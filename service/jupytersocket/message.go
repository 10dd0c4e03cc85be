// Package jupytersocket is the pure part of /api/kernels/{id}/channels, the WebSocket of a kernel for clients of Jupyter:
// its messages, and what brig's events of a cell are among them. It checks the form of what strangers send, and knows
// nothing of connections and kernels (https://jupyter-client.readthedocs.io/en/stable/messaging.html).
package jupytersocket

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
)

// V1 is the subprotocol whose messages are binary. Without one they are JSON.
const V1 = "v1.kernel.websocket.jupyter.org"

// MaxMessage is the longest message of a client, in bytes: the code of a cell, in which JSON may write a byte as two.
const MaxMessage = 2<<20 + 64<<10

// maxParts bounds the parts of a message: five, and buffers.
const maxParts = 64

// The channels.
const (
	Shell   = "shell"
	Control = "control"
	IOPub   = "iopub"
	Stdin   = "stdin"
)

// A Header says what a message is.
type Header struct {
	ID       string `json:"msg_id"`
	Session  string `json:"session"`
	Username string `json:"username"`
	Date     string `json:"date"`
	Type     string `json:"msg_type"`
	Version  string `json:"version"`
}

// A Message is what a client sends. Its buffers are dropped: what brig has needs none.
type Message struct {
	Channel string
	Header  Header
	Parent  json.RawMessage // its header as it came, which is the parent_header of all answers
	Content json.RawMessage
}

// The bounds of a header. It comes back with every answer.
const maxHeader = 16 << 10

// Read understands a message of a client. binary: it is one of the frames that WebSockets call so.
func Read(subprotocol string, binary bool, b []byte) (Message, error) {
	m, err := read(subprotocol, binary, b)
	switch {
	case err != nil:
		return Message{}, err
	case m.Channel != Shell && m.Channel != Control && m.Channel != Stdin:
		return Message{}, fmt.Errorf("channel %.20q: a client sends on shell, control or stdin", m.Channel)
	case len(m.Parent) > maxHeader:
		return Message{}, fmt.Errorf("a header of %d bytes: the maximum is %d", len(m.Parent), maxHeader)
	case json.Unmarshal(m.Parent, &m.Header) != nil || m.Header.ID == "" || m.Header.Type == "":
		return Message{}, errors.New("a message needs a header with msg_id and msg_type")
	}
	if len(m.Content) == 0 || string(m.Content) == "null" {
		m.Content = json.RawMessage("{}")
	}
	return m, nil
}

func read(subprotocol string, binary bool, b []byte) (Message, error) {
	switch {
	case subprotocol == V1 && !binary:
		return Message{}, errors.New("a message of " + V1 + " is binary, and this one is text")
	case subprotocol == V1:
		return readParts(b)
	case binary:
		var err error
		if b, err = firstBuffer(b); err != nil {
			return Message{}, err
		}
	}

	var whole struct {
		Channel string          `json:"channel"`
		Header  json.RawMessage `json:"header"`
		Content json.RawMessage `json:"content"`
	}
	if err := json.Unmarshal(b, &whole); err != nil {
		return Message{}, fmt.Errorf("a message is no JSON: %w", err)
	}
	if whole.Channel == "" {
		whole.Channel = Shell
	}
	return Message{Channel: whole.Channel, Parent: whole.Header, Content: whole.Content}, nil
}

// readParts reads a message of V1: a number of offsets, the offsets, and the parts between them. All numbers are of 64
// bits, the least significant byte first.
func readParts(b []byte) (Message, error) {
	const size = 8
	if len(b) < size {
		return Message{}, errors.New("a message without a number of offsets")
	}
	n := binary.LittleEndian.Uint64(b)
	if n < 6 || n > maxParts || uint64(len(b)) < size*(n+1) {
		return Message{}, fmt.Errorf("a message of %d bytes with %d offsets: it has 6 to %d", len(b), n, maxParts)
	}

	parts := make([][]byte, 0, n-1)
	from := binary.LittleEndian.Uint64(b[size:])
	for i := uint64(2); i <= n; i++ {
		to := binary.LittleEndian.Uint64(b[size*i:])
		if from < size*(n+1) || to < from || to > uint64(len(b)) {
			return Message{}, fmt.Errorf("a message of %d bytes with a part from byte %d to %d", len(b), from, to)
		}
		parts = append(parts, b[from:to])
		from = to
	}
	for _, part := range parts[1:5] {
		if !json.Valid(part) {
			return Message{}, errors.New("a part of a message is no JSON")
		}
	}
	return Message{Channel: string(parts[0]), Parent: parts[1], Content: parts[4]}, nil
}

// firstBuffer is the JSON of a message with buffers, without a subprotocol: a number of buffers, their offsets, each of
// 32 bits with the most significant byte first, and the buffers, the first of which is the JSON.
func firstBuffer(b []byte) ([]byte, error) {
	const size = 4
	if len(b) < size {
		return nil, errors.New("a message without a number of buffers")
	}
	n := uint64(binary.BigEndian.Uint32(b))
	if n < 1 || n > maxParts || uint64(len(b)) < size*(n+1) {
		return nil, fmt.Errorf("a message of %d bytes with %d buffers: it has 1 to %d", len(b), n, maxParts)
	}

	from, to := uint64(binary.BigEndian.Uint32(b[size:])), uint64(len(b))
	if n > 1 {
		to = uint64(binary.BigEndian.Uint32(b[2*size:]))
	}
	if from < size*(n+1) || to < from || to > uint64(len(b)) {
		return nil, fmt.Errorf("a message of %d bytes with a buffer from byte %d to %d", len(b), from, to)
	}
	return b[from:to], nil
}

// An Answer is what a client gets.
type Answer struct {
	Channel string
	Header  Header
	Parent  json.RawMessage // {}: it is the answer to nothing
	Content any
}

// answer is an Answer as JSON without a subprotocol. Older clients look for msg_id and msg_type beside the header.
type answer struct {
	Channel  string          `json:"channel"`
	Header   Header          `json:"header"`
	ID       string          `json:"msg_id"`
	Type     string          `json:"msg_type"`
	Parent   json.RawMessage `json:"parent_header"`
	Metadata struct{}        `json:"metadata"`
	Content  any             `json:"content"`
	Buffers  []string        `json:"buffers"`
}

// Append appends an answer to b. binary says of which kind the message is.
func Append(b []byte, subprotocol string, a Answer) (message []byte, binary bool, err error) {
	if len(a.Parent) == 0 {
		a.Parent = json.RawMessage("{}")
	}
	if subprotocol != V1 {
		whole, err := json.Marshal(answer{Channel: a.Channel, Header: a.Header, ID: a.Header.ID, Type: a.Header.Type,
			Parent: a.Parent, Content: a.Content, Buffers: []string{}})
		return append(b, whole...), false, err
	}

	header, err := json.Marshal(a.Header)
	if err != nil {
		return b, true, err
	}
	content, err := json.Marshal(a.Content)
	if err != nil {
		return b, true, err
	}
	return appendParts(b, []byte(a.Channel), header, a.Parent, []byte("{}"), content), true, nil
}

func appendParts(b []byte, parts ...[]byte) []byte {
	b = binary.LittleEndian.AppendUint64(b, uint64(len(parts)+1))
	at := uint64(8 * (len(parts) + 2))
	b = binary.LittleEndian.AppendUint64(b, at)
	for _, part := range parts {
		at += uint64(len(part))
		b = binary.LittleEndian.AppendUint64(b, at)
	}
	for _, part := range parts {
		b = append(b, part...)
	}
	return b
}
