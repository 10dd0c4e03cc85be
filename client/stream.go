package client

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/brig-sandbox/brig/api"
)

// RunStream carries out one run, copying stdin to the program and what it writes
// to stdout and stderr as it comes; a nil stdin is empty, a nil writer drops. Of
// a run that is refused no stdin is read, so it may be tried again.
//
// When ctx is done the run is canceled, and RunStream still waits for the
// Result, whose verdict is then canceled, unless the agent gives none within
// ten seconds. It returns when the Result is there, even while a read of stdin
// blocks: that read's goroutine then lives until the read returns, and what it
// reads is lost. A writer's error cancels the run and is returned.
func (c *Client) RunStream(ctx context.Context, r api.Run, stdin io.Reader, stdout, stderr io.Writer) (api.Result, error) {
	body, err := json.Marshal(r)
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
	// Closing our sending side is the one sign of cancelling that the agent sees
	// even while earlier frames wait for the program to read them.
	stop := context.AfterFunc(ctx, func() { k.hangUp() })
	defer stop()

	if err := k.upgrade(body); err != nil {
		if ctx.Err() != nil {
			return api.Result{}, context.Cause(ctx)
		}
		return api.Result{}, err
	}
	return k.receive(func() { go sendStdin(k, stdin) }, orDiscard(stdout), orDiscard(stderr))
}

const answerTime = 10 * time.Second // from a cancel to the answer

func (k *conn) hangUp() {
	_ = k.SetReadDeadline(time.Now().Add(answerTime)) // fails only when closed, which is as good
	if u, ok := k.Conn.(*net.UnixConn); ok {
		_ = u.CloseWrite()
	}
}

// upgrade sends the run and reads up to the start of the frames.
func (k *conn) upgrade(body []byte) error {
	head := append(make([]byte, 0, 256+len(body)), "POST "+runsPath+" HTTP/1.1\r\nHost: brig\r\nConnection: Upgrade\r\nUpgrade: "+api.StreamProtocol+"\r\n"...)
	werr := k.send(head, body)
	res, err := http.ReadResponse(k.in, &http.Request{Method: http.MethodPost})
	switch {
	case err != nil && werr != nil:
		return gone(werr, true)
	case err != nil:
		return gone(err, true)
	case res.StatusCode == http.StatusSwitchingProtocols:
		return nil
	}
	answer, err := readAnswer(res)
	if err != nil {
		return gone(err, true)
	}
	return refusal(res.StatusCode, answer)
}

// sendStdin sends frames until stdin ends or the connection takes no more. When
// stdin fails, the program sees its end.
func sendStdin(w io.Writer, stdin io.Reader) {
	buf := make([]byte, api.FrameHeader+api.FrameMax)
	for stdin != nil {
		n, err := stdin.Read(buf[api.FrameHeader:])
		if n > 0 {
			api.PutFrameHeader(buf, api.FrameStdin, n)
			if _, werr := w.Write(buf[:api.FrameHeader+n]); werr != nil {
				return // the answer is there, or receive sees why not
			}
		}
		if err != nil {
			break
		}
	}
	api.PutFrameHeader(buf, api.FrameStdinEnd, 0)
	_, _ = w.Write(buf[:api.FrameHeader])
}

// receive reads frames up to the answer. It calls taken when the run has its slot.
func (k *conn) receive(taken func(), stdout, stderr io.Writer) (res api.Result, err error) {
	buf := make([]byte, api.FrameMax)
	var parts []byte
	for {
		t, payload, err := api.ReadFrame(k.in, buf)
		if err != nil {
			if err == io.EOF {
				err = io.ErrUnexpectedEOF
			}
			return res, gone(err, false) // stdin was read and output delivered
		}
		switch t {
		case api.FrameTaken:
			taken()
		case api.FrameStdout:
			_, err = stdout.Write(payload)
		case api.FrameStderr:
			_, err = stderr.Write(payload)
		case api.FramePart:
			parts = append(parts, payload...)
		case api.FrameResult:
			if err := json.Unmarshal(append(parts, payload...), &res); err != nil {
				return res, api.Refuse(api.CodeAgentGone, "decode the agent's result: %w", err)
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
		if err != nil {
			k.hangUp()
			return res, err
		}
	}
}

func orDiscard(w io.Writer) io.Writer {
	if w == nil {
		return io.Discard
	}
	return w
}
