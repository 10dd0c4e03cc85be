package client

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/brig-sandbox/brig/api"
)

// RunStream executes one run. It copies stdin to the program, and the program's output to stdout
// and stderr as it arrives. A nil stdin is empty; a nil writer discards the output. If the run is
// refused, no stdin has been read, so it can be retried.
//
// When ctx is done, the run is canceled, and RunStream still waits up to ten seconds for the
// Result, whose verdict is then canceled. It returns when the Result has arrived, even while a read
// of stdin blocks: that read's goroutine then lives until the read returns, and the data that it
// reads is lost. A writer's error cancels the run and is returned.
func (c *Client) RunStream(ctx context.Context, r api.Run, stdin io.Reader, stdout,
	stderr io.Writer) (api.Result, error) {
	return c.RunEvents(ctx, r, stdin, Events{Stdout: stdout, Stderr: stderr})
}

// Events are the callbacks for the events of a run. The calls never overlap. Nil fields are not
// called. The Result has the compilation and all tests as well.
type Events struct {
	Stdout, Stderr io.Writer // of a run without tests
	Started        func()    // the run has its slot; only for a run without tests and without stdin_blob
	Compiled       func(api.Compilation)
	Usage          func(api.LiveUsage)      // from time to time, the usage of the run with all of its tests
	Resize         <-chan api.TTY           // the sizes that the terminal of the run gets
	Signals        <-chan api.Signal        // of an exec: what its program gets, in front of stdin that it has not read
	Control        io.Writer                // of an exec with control: what its program writes to descriptor 4, after the output before that
	Requests       io.Reader                // of an exec with control: what its program reads from descriptor 3; nil: nothing, and no end
	Network        func(sockets []*os.File) // the sockets of the run's network, which belong to the callee; nil: they are closed
	Test           func(api.TestResult)     // each test's result as it arrives
}

// RunEvents is RunStream with more events.
func (c *Client) RunEvents(ctx context.Context, r api.Run, stdin io.Reader, events Events) (api.Result, error) {
	return c.stream(ctx, runsPath, r, r.Tests, stdin, windows{}, events)
}

// stream sends the request ask to path in the streamed form. tests are the tests in ask.
func (c *Client) stream(ctx context.Context, path string, req any, tests []api.Test, stdin io.Reader, room windows,
	events Events) (api.Result, error) {
	body, err := api.Encode(req)
	if err != nil {
		return api.Result{}, api.Refuse(api.CodeBadRequest, "encode request: %w", err)
	}

	k, err := c.get(ctx, true)
	if err != nil {
		return api.Result{}, err
	}
	defer k.Close()

	if err := ctx.Err(); err != nil {
		return api.Result{}, err
	}
	if u, ok := k.Conn.(*net.UnixConn); ok && events.Network != nil {
		received := &fileReader{conn: u}
		defer received.Close()
		k.in, k.files = bufio.NewReader(received), received
	}

	// Closing our sending side is the only way to cancel that the agent notices even while earlier
	// frames wait for the program to read them.
	stop := context.AfterFunc(ctx, func() { k.hangUp() })
	defer stop()

	if err := k.upgrade(path, waitHeader(ctx), body, events.Usage != nil); err != nil {
		if ctx.Err() != nil {
			return api.Result{}, context.Cause(ctx)
		}
		return api.Result{}, err
	}

	events.Stdout, events.Stderr, events.Control = orDiscard(events.Stdout), orDiscard(events.Stderr), orDiscard(events.Control)
	over := make(chan struct{})
	var sending sync.WaitGroup
	defer func() {
		close(over)
		room.end()
		_ = k.SetWriteDeadline(time.Unix(1, 0)) // a size may wait behind what the program does not read; the connection ends anyway
		sending.Wait()
	}()
	return k.receive(quotaOf(ctx), tests, room, func() {
		go sendInput(k, stdin, api.FrameStdin, api.FrameStdinEnd, room.stdin)
		if events.Requests != nil {
			go sendInput(k, events.Requests, api.FrameControl, api.FrameControl, room.control)
		}
		if events.Resize != nil {
			sending.Go(func() { sendEach(k, api.FrameResize, events.Resize, over, sizePayload) })
		}
		if events.Signals != nil {
			sending.Go(func() {
				sendEach(k, api.FrameSignal, events.Signals, over, func(s api.Signal) []byte { return []byte(s) })
			})
		}
		if events.Started != nil {
			events.Started()
		}
	}, events)
}

const cancelTimeout = 10 * time.Second // from a cancel to the answer

func (k *conn) hangUp() {
	_ = k.SetReadDeadline(time.Now().Add(cancelTimeout)) // fails only if the connection is closed, which ends the read too
	if u, ok := k.Conn.(*net.UnixConn); ok {
		_ = u.CloseWrite()
	}
}

// upgrade sends the request and reads up to the start of the frames.
func (k *conn) upgrade(path, wait string, body *api.Encoding, usage bool) error {
	retrySafe := path == runsPath
	head := append(make([]byte, 0, 256+inlineLen(body)),
		"POST "+path+" HTTP/1.1\r\nHost: brig\r\nConnection: Upgrade\r\nUpgrade: "+api.StreamProtocol+"\r\n"+wait...)
	if usage {
		head = append(head, api.UsageHeader+": yes\r\n"...)
	}

	werr := k.send(head, body)
	res, err := http.ReadResponse(k.in, &http.Request{Method: http.MethodPost})
	switch {
	case err != nil && werr != nil:
		return agentGone(werr, retrySafe)
	case err != nil:
		return agentGone(err, retrySafe)
	case res.StatusCode == http.StatusSwitchingProtocols:
		return nil
	}

	answer, err := readAnswer(res)
	if err != nil {
		return agentGone(err, retrySafe)
	}
	return refusal(http.MethodPost, res, answer)
}

// sendEach sends a frame for each of the values, until the run is over.
func sendEach[T any](w io.Writer, t api.FrameType, values <-chan T, over <-chan struct{}, payload func(T) []byte) {
	for {
		select {
		case <-over:
			return
		case v := <-values:
			body := payload(v)
			frame := make([]byte, api.FrameHeader+len(body))
			api.PutFrameHeader(frame, t, len(body))
			copy(frame[api.FrameHeader:], body)
			if _, err := w.Write(frame); err != nil {
				return // receive gets the error
			}
		}
	}
}

// sizePayload is a TTY as a frame has it.
func sizePayload(size api.TTY) []byte {
	payload, err := json.Marshal(size)
	if err != nil {
		panic("BUG: a TTY has numbers alone: " + err.Error())
	}
	return payload
}

// receive reads frames up to the final one. It calls admitted when the run has its slot.
func (k *conn) receive(quota MemoryQuota, requested []api.Test, room windows, admitted func(),
	events Events) (res api.Result, err error) {
	buf := make([]byte, api.FrameMax)
	var parts []byte
	tests := map[string]api.TestResult{}
	for {
		t, payload, err := api.ReadFrame(k.in, buf)
		if err != nil {
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return res, agentGone(err, false) // stdin was read and output delivered
		}

		switch t {
		case api.FrameAdmitted:
			admitted()
		case api.FrameStdout:
			_, err = events.Stdout.Write(payload)
		case api.FrameStderr:
			_, err = events.Stderr.Write(payload)
		case api.FrameControl:
			_, err = events.Control.Write(payload)
		case api.FrameTaken:
			err = room.taken(payload)
		case api.FramePart:
			if err = quota.chunk(int64(len(payload))); err == nil {
				parts = append(parts, payload...)
			}
		case api.FrameCompiled:
			var made api.Compilation
			if err = decodeParts(quota, &parts, payload, &made); err == nil && events.Compiled != nil {
				events.Compiled(made)
			}

		case api.FrameNetwork:
			if events.Network != nil {
				events.Network(k.files.take())
			}
		case api.FrameUsage:
			var now api.LiveUsage
			if err = json.Unmarshal(payload, &now); err == nil && events.Usage != nil {
				events.Usage(now)
			}

		case api.FrameTest:
			var one api.TestResult
			if err = decodeParts(quota, &parts, payload, &one); err == nil {
				tests[one.ID] = one
				if events.Test != nil {
					events.Test(one)
				}
			}

		case api.FrameResult:
			if err := decodeParts(quota, &parts, payload, &res); err != nil {
				return res, err
			}

			// Tests run side by side, and their frames arrive as they end. The caller gets them in the
			// order of the request.
			for _, t := range requested {
				if one, ran := tests[t.ID]; ran {
					res.Tests = append(res.Tests, one)
				}
			}
			return res, nil

		case api.FrameFailure:
			e := new(api.Error)
			if err := json.Unmarshal(payload, e); err != nil {
				return res, api.Refuse(api.CodeAgentGone, "decode the agent's error: %w", err)
			}
			return res, e

		default:
			err = errors.New("the agent sent a frame of unknown type " + string(rune(t)))
		}

		// The caller cannot take what arrives, so nobody would read the result. The agent takes the closed
		// side for a cancel and ends the run.
		if err != nil {
			k.hangUp()
			return res, err
		}
	}
}

// decodeParts decodes the JSON of which payload is the last piece.
func decodeParts(quota MemoryQuota, parts *[]byte, payload []byte, into any) error {
	if err := quota.chunk(int64(len(payload))); err != nil {
		return err
	}
	body := append(*parts, payload...)
	*parts = nil
	if err := decode(body, into); err != nil {
		return api.Refuse(api.CodeAgentGone, "decode the agent's answer: %w", err)
	}
	quota.decoded(into)
	return nil
}

func orDiscard(w io.Writer) io.Writer {
	if w == nil {
		return io.Discard
	}
	return w
}
