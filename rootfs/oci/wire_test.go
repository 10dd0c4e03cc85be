package oci

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"testing"
)

// FuzzReceiver feeds any bytes to the part of the protocol that may run as root. It reads no more
// memory than a frame may have, and ends.
func FuzzReceiver(f *testing.F) {
	var b bytes.Buffer
	s := &sender{w: bufio.NewWriter(&b)}
	err := errors.Join(s.send(frameReady, nil), s.sendJSON(frameProgress, Amount{1, 2}),
		documentsOf(f, imageOf(f, "linux/amd64", zstdLayer(f, []byte("abc")))).send(s), s.send(frameImage, nil),
		s.send(frameLayer, []byte("sha256:1")), s.send(frameData, []byte("abc")), s.send(frameEnd, nil))
	if err != nil {
		f.Fatal(err)
	}

	f.Add(b.Bytes())
	f.Add([]byte{frameImage, 0xff, 0xff, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, b []byte) {
		c := NewReceiver(bytes.NewReader(b), io.Discard)
		if err := c.Send(Request{Platform: "linux/amd64"}); err != nil {
			return
		}
		if _, ok, err := c.Image(); !ok || err != nil {
			return
		}

		for {
			_, body, err := c.Layer()
			if err != nil {
				return
			}
			n, err := io.Copy(io.Discard, body)
			if n > int64(len(b)) {
				t.Errorf("%d bytes out of %d", n, len(b))
			}
			if err != nil {
				return
			}
		}
	})
}

// What the child says arrives: an error in the middle of a layer, and its end.
func TestReceiverTellsACutLayerFromAWholeOne(t *testing.T) {
	for name, end := range map[string]func(s *sender) error{
		"whole": func(s *sender) error { return s.send(frameEnd, nil) },
		"error": func(s *sender) error { return s.send(frameError, []byte("the registry lies")) },
		"cut":   func(s *sender) error { return s.w.Flush() },
	} {
		var b bytes.Buffer
		s := &sender{w: bufio.NewWriter(&b)}
		if err := errors.Join(s.send(frameLayer, []byte("sha256:1")), s.send(frameData, []byte("abc")), end(s)); err != nil {
			t.Fatal(err)
		}

		c := NewReceiver(&b, io.Discard)
		diffID, body, err := c.Layer()
		if err != nil || diffID != "sha256:1" {
			t.Fatal(diffID, err)
		}

		text, err := io.ReadAll(body)
		if string(text) != "abc" || (err == nil) != (name == "whole") {
			t.Errorf("%s: %q, %v", name, text, err)
		}
	}
}
