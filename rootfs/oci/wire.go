package oci

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
)

// What the child sends: frames of a kind, a length of four bytes, and so many bytes.
const (
	frameReady    = 'R' // the child is out of reach of other processes
	frameDocument = 'M' // a document of the image begins; its name
	frameImage    = 'I' // the image has no more documents
	framePlain    = 'T' // the file is no archive of layers
	frameLayer    = 'L' // a layer begins; its diffID
	frameData     = 'D' // bytes of the document, or of the uncompressed layer
	frameEnd      = 'E' // the document or the layer ends
	frameProgress = 'P' // JSON of an Amount
	frameError    = 'X' // why there is nothing more
)

// Bounds of a frame, and of the name of a document or a layer.
const (
	maxFrame = 1 << 20
	maxName  = 100
)

// A sender writes frames; goroutines may share it.
type sender struct {
	mu sync.Mutex
	w  *bufio.Writer // guarded by mu
}

func (s *sender) send(kind byte, payload []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var head [5]byte
	head[0] = kind
	binary.BigEndian.PutUint32(head[1:], uint32(len(payload)))
	_, _ = s.w.Write(head[:]) // Flush returns the error
	_, _ = s.w.Write(payload)
	if kind == frameData {
		return nil
	}
	return s.w.Flush()
}

func (s *sender) sendJSON(kind byte, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return s.send(kind, text)
}

// A Receiver is the other side of the child. It trusts nothing that the child says: it reads the
// documents of the image itself, and the agent checks the digest of each layer, and every value of the
// description.
type Receiver struct {
	Progress func(Amount) // may be nil

	r       *bufio.Reader
	w       *json.Encoder
	request Request
}

// NewReceiver talks to a child by its standard output and input.
func NewReceiver(r io.Reader, w io.Writer) *Receiver {
	return &Receiver{r: bufio.NewReaderSize(r, 256<<10), w: json.NewEncoder(w)}
}

// errProtocol means that the child is not what it should be, or that it died.
var errProtocol = errors.New("the process that reads the image ended, or sends something else")

// next returns the next frame that is not about progress.
func (c *Receiver) next() (kind byte, n int, err error) {
	for {
		var head [5]byte
		if _, err := io.ReadFull(c.r, head[:]); err != nil {
			return 0, 0, fmt.Errorf("%w: %w", errProtocol, err)
		}

		n := binary.BigEndian.Uint32(head[1:])
		if n > maxFrame {
			return 0, 0, fmt.Errorf("%w: a frame of %d bytes", errProtocol, n)
		}

		switch head[0] {
		case frameProgress, frameError:
			text := make([]byte, n)
			if _, err := io.ReadFull(c.r, text); err != nil {
				return 0, 0, fmt.Errorf("%w: %w", errProtocol, err)
			}
			if head[0] == frameError {
				return 0, 0, errors.New(string(text))
			}
			var a Amount
			if err := json.Unmarshal(text, &a); err == nil && c.Progress != nil {
				c.Progress(a)
			}

		default:
			return head[0], int(n), nil
		}
	}
}

// Send waits until the child is ready, and tells it what to read.
func (c *Receiver) Send(r Request) error {
	kind, n, err := c.next()
	if err != nil {
		return err
	}
	if kind != frameReady || n != 0 {
		return fmt.Errorf("%w: a frame %q", errProtocol, kind)
	}
	c.request = r
	return c.w.Encode(r)
}

// Image returns the description of the image, or false if the file is no archive of layers. It is of the
// documents that were asked for, if the request says their digest.
func (c *Receiver) Image() (img Image, ok bool, err error) {
	for read := (documents{}); ; {
		kind, n, err := c.next()
		if err != nil {
			return Image{}, false, err
		}

		switch kind {
		case frameDocument:
			if err := read.receive(c, n); err != nil {
				return Image{}, false, err
			}
		case frameImage:
			img, err := read.describe(c.request)
			return img, err == nil, err
		case framePlain:
			return Image{}, false, nil
		default:
			return Image{}, false, fmt.Errorf("%w: a frame %q", errProtocol, kind)
		}
	}
}

// Need tells the child which layers to send. It may be called again when all of them have been stored.
func (c *Receiver) Need(diffIDs []string) error { return c.w.Encode(diffIDs) }

// Layer returns the diffID of the next layer, and its bytes, which must be read to their end.
func (c *Receiver) Layer() (diffID string, body io.Reader, err error) {
	kind, n, err := c.next()
	if err != nil {
		return "", nil, err
	}
	if kind != frameLayer || n > maxName {
		return "", nil, fmt.Errorf("%w: a frame %q of %d bytes", errProtocol, kind, n)
	}
	text := make([]byte, n)
	if _, err := io.ReadFull(c.r, text); err != nil {
		return "", nil, fmt.Errorf("%w: %w", errProtocol, err)
	}
	return string(text), &layerReader{c: c}, nil
}

// Stored tells the child that the agent has the layer.
func (c *Receiver) Stored() error { return c.w.Encode(true) }

// Refused tells the child that the agent refuses the image, and waits until it has removed its downloads
// and ended, or died. What it still sends is discarded.
func (c *Receiver) Refused() {
	if c.w.Encode(false) == nil {
		_, _ = io.Copy(io.Discard, c.r) // it ends with the child
	}
}

type layerReader struct {
	c    *Receiver
	left int
	err  error
}

func (l *layerReader) Read(p []byte) (int, error) {
	for l.left == 0 && l.err == nil {
		kind, n, err := l.c.next()
		switch {
		case err != nil:
			l.err = err
		case kind == frameEnd && n == 0:
			l.err = io.EOF
		case kind != frameData:
			l.err = fmt.Errorf("%w: a frame %q", errProtocol, kind)
		default:
			l.left = n
		}
	}

	if l.left == 0 {
		return 0, l.err
	}

	n, err := l.c.r.Read(p[:min(len(p), l.left)])
	l.left -= n
	if errors.Is(err, io.EOF) {
		err = fmt.Errorf("%w: %w", errProtocol, io.ErrUnexpectedEOF)
	}
	return n, err
}
