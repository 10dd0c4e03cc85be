package client_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/agent/client"
	"github.com/brig-sandbox/brig/api"
)

var anyRun = api.Run{Image: "tiny", Argv: []string{"true"}}

func code(err error) api.Code {
	var e *api.Error
	if errors.As(err, &e) {
		return e.Code
	}
	return api.Code(fmt.Sprint(err))
}

// listen returns a socket whose connections serve handles, one after the other.
func listen(t *testing.T, serve func(nth int, c net.Conn)) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "client") // t.TempDir is too long for a socket's name
	if err != nil {
		t.Fatal(err)
	}

	socket := filepath.Join(dir, "s")
	ln, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}

	done := make(chan struct{})
	go func() {
		defer close(done)
		for nth := 0; ; nth++ {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			serve(nth, c)
			c.Close()
		}
	}()

	t.Cleanup(func() { ln.Close(); <-done; os.RemoveAll(dir) })
	return socket
}

// request reads one complete request.
func request(t *testing.T, c net.Conn) *http.Request {
	r, err := http.ReadRequest(bufio.NewReader(c))
	if err != nil {
		t.Errorf("read request: %v", err)
		return nil
	}
	if _, err := io.Copy(io.Discard, r.Body); err != nil {
		t.Errorf("read body: %v", err)
	}
	return r
}

const okAnswer = "HTTP/1.1 200 OK\r\nContent-Length: 16\r\n\r\n" + `{"verdict":"ok"}`

func TestUnreachableAgentErrorSaysWhatToDo(t *testing.T) {
	dir := t.TempDir()
	stale := filepath.Join(dir, "stale")
	ln, err := net.ListenUnix("unix", &net.UnixAddr{Name: stale, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}

	ln.SetUnlinkOnClose(false)
	ln.Close()
	for _, socket := range []string{filepath.Join(dir, "none"), stale} {
		_, err := client.New(socket).Run(t.Context(), anyRun)
		if code(err) != api.CodeAgentUnreachable || !strings.Contains(err.Error(), "start brigd") {
			t.Errorf("%s: %v; want agent-unreachable with a cure", socket, err)
		}
	}
}

func TestAnAgentThatDiesMidRunIsGone(t *testing.T) {
	for _, tt := range []struct {
		name string
		said string
	}{
		{"before it said anything", ""},
		{"within its answer", okAnswer[:40]},
		{"within a frame", "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: brig-stream/1\r\n\r\no\x05\x00\x00\x00ab"},
		{"between frames", "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: brig-stream/1\r\n\r\no\x02\x00\x00\x00ab"},
		{"after a frame too large to be one",
			"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: brig-stream/1\r\n\r\no\xff\xff\xff\xff"},
		{"and was no agent at all", "SSH-2.0-OpenSSH\r\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			socket := listen(t, func(nth int, c net.Conn) {
				if r := request(t, c); r != nil {
					io.WriteString(c, tt.said)
				}
			})

			c := client.New(socket)
			if _, err := c.RunStream(t.Context(), anyRun, nil, nil, nil); code(err) != api.CodeAgentGone {
				t.Errorf("streamed: %v; want agent-gone", err)
			} else if taken := strings.Contains(tt.said, "101"); taken && retrySafe(err) {
				t.Errorf("streamed: %v is retry-safe, though input may be used up", err)
			}
			if strings.Contains(tt.said, "101") {
				return
			}
			if _, err := c.Run(t.Context(), anyRun); code(err) != api.CodeAgentGone {
				t.Errorf("plain: %v; want agent-gone", err)
			} else if again := !strings.HasPrefix(tt.said, "SSH"); retrySafe(err) != again {
				t.Errorf("plain: retry-safe is %v; want %v", !again, again)
			}
			if _, err := c.Import(t.Context(), strings.NewReader("x"), "x", ""); code(err) != api.CodeAgentGone || retrySafe(err) {
				t.Errorf("import: %v; want agent-gone, for the caller to decide", err)
			}
		})
	}
}

func TestAConnectionThatTheAgentClosedIsReplaced(t *testing.T) {
	closed := make(chan struct{})
	var seen atomic.Int32
	socket := listen(t, func(nth int, c net.Conn) {
		if request(t, c) != nil {
			seen.Add(1)
			io.WriteString(c, okAnswer)
		}
		if nth == 0 {
			c.Close()
			close(closed)
		}
	})

	c := client.New(socket)
	defer c.Close()

	for i := range 2 {
		if res, err := c.Run(t.Context(), anyRun); err != nil || res.Verdict != api.OK {
			t.Fatalf("request %d: %v, %v; want ok", i, res.Verdict, err)
		}
		<-closed
	}

	if seen.Load() != 2 {
		t.Errorf("the agent saw %d requests; want 2", seen.Load())
	}
}

func TestARequestTheAgentReadIsNotSentAgain(t *testing.T) {
	var seen atomic.Int32
	socket := listen(t, func(nth int, c net.Conn) {
		in := bufio.NewReader(c)
		for i := range 2 {
			r, err := http.ReadRequest(in)
			if err != nil {
				return
			}
			io.Copy(io.Discard, r.Body)
			seen.Add(1)
			if i == 0 {
				io.WriteString(c, okAnswer)
			}
		} // and dies after it has read the second request
	})

	c := client.New(socket)
	defer c.Close()

	if _, err := c.Run(t.Context(), anyRun); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Run(t.Context(), anyRun); code(err) != api.CodeAgentGone {
		t.Errorf("%v; want agent-gone", err)
	}
	if seen.Load() != 2 {
		t.Errorf("the agent saw %d requests; want 2", seen.Load())
	}
}

func TestACancelDoesNotWaitForeverForTheAgent(t *testing.T) {
	if testing.Short() {
		t.Skip("takes ten seconds")
	}

	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()

	release := make(chan struct{})
	socket := listen(t, func(nth int, c net.Conn) {
		request(t, c)
		io.WriteString(c, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: brig-stream/1\r\n\r\n")
		cancel()
		<-release
	})

	defer close(release)

	began := time.Now()
	_, err := client.New(socket).RunStream(ctx, anyRun, nil, nil, nil)
	if took := time.Since(began); code(err) != api.CodeAgentGone || took < 9*time.Second || took > time.Minute {
		t.Errorf("%v after %v; want agent-gone after ten seconds", err, took)
	}
}

func TestAWriterThatFailsCancels(t *testing.T) {
	hungUp := make(chan struct{})
	socket := listen(t, func(nth int, c net.Conn) {
		in := bufio.NewReader(c)
		r, err := http.ReadRequest(in)
		if err != nil {
			return
		}
		io.Copy(io.Discard, r.Body)
		io.WriteString(c, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: brig-stream/1\r\n\r\no\x02\x00\x00\x00ab")
		io.Copy(io.Discard, in) // until the client closes
		close(hungUp)
	})

	full := errors.New("disk full")
	_, err := client.New(socket).RunStream(t.Context(), anyRun, nil, failing{full}, nil)
	if !errors.Is(err, full) {
		t.Errorf("%v; want the writer's error", err)
	}

	select {
	case <-hungUp:
	case <-time.After(time.Minute):
		t.Error("the client has not hung up")
	}
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

func TestReadFrameReturnsWhatWasWritten(t *testing.T) {
	for _, n := range []int{0, 1, api.FrameMax} {
		b := make([]byte, api.FrameHeader+n)
		for i := range b {
			b[i] = byte(i)
		}
		api.PutFrameHeader(b, api.FrameStdout, n)
		ft, p, err := api.ReadFrame(bytes.NewReader(b), make([]byte, api.FrameMax))
		if err != nil || ft != api.FrameStdout || !bytes.Equal(p, b[api.FrameHeader:]) {
			t.Errorf("%d bytes: type %c, %d bytes, %v", n, ft, len(p), err)
		}
		if _, _, err := api.ReadFrame(bytes.NewReader(b[:len(b)-1]), make([]byte, api.FrameMax)); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%d bytes, one short: %v; want unexpected EOF", n, err)
		}
	}
}

func retrySafe(err error) bool {
	var e *api.Error
	return errors.As(err, &e) && e.RetrySafe
}

// An agent that ends in the middle of a run with network is an error like any other.
func TestAnAgentThatEndsDuringARunWithNetwork(t *testing.T) {
	for name, serve := range map[string]func(net.Conn){
		"before it has read the request": func(net.Conn) {},
		"before its answer":              func(c net.Conn) { request(t, c) },
		"before the first frame": func(c net.Conn) {
			request(t, c)
			_, _ = io.WriteString(c, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: "+api.StreamProtocol+"\r\n\r\n")
		},
	} {
		c := client.New(listen(t, func(_ int, c net.Conn) { serve(c) }))
		_, err := c.RunEvents(t.Context(), anyRun, nil, client.Events{Network: func([]*os.File) { t.Errorf("%s: sockets arrive", name) }})
		if code(err) != api.CodeAgentGone {
			t.Errorf("%s: %v", name, err)
		}
	}
}
