package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"

	"github.com/coder/websocket"

	"github.com/brig-sandbox/brig/api"
)

// Attachment says how a client is connected to a process. Its zero value shows nothing and sends nothing.
type Attachment struct {
	Since    int64 // offset of the first byte of output that is wanted
	Takeover bool  // a client that is connected leaves

	Stdout, Stderr io.Writer // nil: not shown
	Stdin          io.Reader // nil: nothing is sent
	EOF            bool      // the end of Stdin is that of the process's; otherwise that stays open

	Attached func()            // called when the connection is there; nil: nobody asks
	Gap      func(bytes int64) // called for output that is lost; nil: nobody asks
	Resize   <-chan api.TTY    // sizes of the terminal
	Signals  <-chan api.Signal // what the program gets
}

// The subprotocol of Attach, and its channels (docs/gateway.md).
const (
	attachProtocol = "brig.exec.v1"

	channelStdin  = 0
	channelStdout = 1
	channelStderr = 2
	channelSize   = 4
	channelSignal = 5
	channelEvents = 6
	channelEnd    = 255
)

// maxMessage is the longest message of the service: an event with a result.
const maxMessage = 16 << 20

// Attach connects to a process until it ends, and returns how. The end of ctx leaves it: a process that is detached goes
// on. A read of Stdin that blocks outlives the call, and what it reads is lost.
func (c *Client) Attach(ctx context.Context, session string, pid int, a Attachment) (api.Result, error) {
	q := url.Values{"since": {strconv.FormatInt(a.Since, 10)}}
	if a.Takeover {
		q.Set("takeover", "true")
	}
	header := http.Header{}
	if c.key != "" {
		header.Set("Authorization", "Bearer "+c.key)
	}

	at := "ws" + strings.TrimPrefix(c.base, "http") + processPath(session, pid) + "/attach?" + q.Encode()
	conn, res, err := websocket.Dial(ctx, at, &websocket.DialOptions{HTTPClient: c.HTTP, HTTPHeader: header,
		Subprotocols: []string{attachProtocol}})
	if err != nil {
		if res != nil && res.Body != nil {
			if rerr := refusal(res); rerr != nil {
				return api.Result{}, rerr
			}
		}
		return api.Result{}, err
	}
	defer func() { _ = conn.CloseNow() }() // it may be closed already
	conn.SetReadLimit(maxMessage)

	ctx, cancel := context.WithCancel(ctx)
	var sending sync.WaitGroup
	defer sending.Wait()
	defer cancel()
	sending.Go(func() { a.sendControl(ctx, conn) })
	if a.Stdin != nil {
		go a.sendInput(ctx, conn)
	}
	return a.receive(ctx, conn)
}

// sendInput sends what is read. It ends with the connection, or when the read that is under way then returns.
func (a *Attachment) sendInput(ctx context.Context, conn *websocket.Conn) {
	buf := make([]byte, 1+32<<10)
	buf[0] = channelStdin
	for {
		n, err := a.Stdin.Read(buf[1:])
		if n > 0 && conn.Write(ctx, websocket.MessageBinary, buf[:1+n]) != nil {
			return // receive gets the error
		}
		if err != nil {
			break
		}
	}
	if a.EOF {
		_ = conn.Write(ctx, websocket.MessageBinary, []byte{channelEnd, channelStdin}) // as above
	}
}

// sendControl sends sizes and signals until ctx is done.
func (a *Attachment) sendControl(ctx context.Context, conn *websocket.Conn) {
	for {
		var message []byte
		select {
		case <-ctx.Done():
			return
		case size := <-a.Resize:
			rows, cols := size.Size()
			message = fmt.Appendf([]byte{channelSize}, `{"Width":%d,"Height":%d}`, cols, rows)
		case s := <-a.Signals:
			message = append([]byte{channelSignal}, s...)
		}
		if conn.Write(ctx, websocket.MessageBinary, message) != nil {
			return // receive gets the error
		}
	}
}

// An attachEvent is what the service tells apart from output.
type attachEvent struct {
	Started *struct{}    `json:"started"`
	Gap     int64        `json:"gap"`
	Result  *api.Result  `json:"result"`
	Error   *api.Problem `json:"error"`
}

// receive shows what arrives until the end.
func (a *Attachment) receive(ctx context.Context, conn *websocket.Conn) (res api.Result, err error) {
	var failure error
	ended := false
	for {
		_, message, err := conn.Read(ctx)
		var closed websocket.CloseError
		switch {
		case ended:
			return res, failure
		case errors.As(err, &closed):
			return res, fmt.Errorf("the service has closed the connection to the process: %s", closed.Reason)
		case err != nil:
			return res, fmt.Errorf("the connection to the process is lost: %w", err)
		case len(message) == 0:
			continue
		}

		switch message[0] {
		case channelStdout:
			err = show(a.Stdout, message[1:])
		case channelStderr:
			err = show(a.Stderr, message[1:])
		case channelEvents:
			var e attachEvent
			if err = json.Unmarshal(message[1:], &e); err != nil {
				break
			}
			switch {
			case e.Started != nil && a.Attached != nil:
				a.Attached()
			case e.Gap > 0 && a.Gap != nil:
				a.Gap(e.Gap)
			case e.Result != nil:
				res, ended = *e.Result, true
			case e.Error != nil:
				failure, ended = e.Error, true
			}
		}
		if err != nil {
			return res, err
		}
	}
}

func show(to io.Writer, b []byte) error {
	if to == nil {
		return nil
	}
	_, err := to.Write(b)
	return err
}
