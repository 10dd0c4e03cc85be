package client

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/brig-sandbox/brig/api"
)

// An Event is one event of a run.
type Event struct {
	ID   int64
	Name api.EventName
	Data json.RawMessage
}

// maxReconnects is how often Events reconnects without receiving a new event before it gives up.
const maxReconnects = 5

// Events calls tell with each event of a run, from its start to its result. If the stream breaks,
// it reconnects and resumes there. It ends when the run has ended, when ctx is done, or when tell
// returns an error, which it returns.
func (c *Client) Events(ctx context.Context, id string, handle func(Event) error) error {
	var after int64
	for failed := 0; ; failed++ {
		received, done, err := c.listen(ctx, id, after, handle)
		switch {
		case done || ctx.Err() != nil:
			return err
		case received > after:
			after, failed = received, 0
		case failed == maxReconnects:
			return fmt.Errorf("the event stream of run %s broke: %w", id, err)
		}
	}
}

// handlerError marks an error that tell returned.
type handlerError struct{ error }

// listen reads one stream. done means that Events must not reconnect.
func (c *Client) listen(ctx context.Context, id string, after int64,
	handle func(Event) error) (received int64, done bool, err error) {
	received = after
	path := "/v1/runs/" + url.PathEscape(id) + "/events?after=" + strconv.FormatInt(after, 10)
	res, err := c.do(ctx, http.MethodGet, path, "", nil)
	if err != nil {
		return received, false, err
	}
	defer res.Body.Close()

	if err := refusal(res); err != nil {
		return received, true, err
	}

	err = ReadEvents(res.Body, func(e Event) error {
		if err := handle(e); err != nil {
			return handlerError{err}
		}
		received = e.ID
		done = done || e.Name == api.EventResult || e.Name == api.EventError
		return nil
	})

	var handlerErr handlerError
	if errors.As(err, &handlerErr) {
		return received, true, handlerErr.error
	}
	if done {
		return received, true, nil
	}
	return received, false, err
}

// maxEvent bounds one line of a stream: a result contains the run's output.
const maxEvent = 1 << 30

// ReadEvents reads server-sent events as the service writes them. At the end of the
// stream the error is io.ErrUnexpectedEOF.
func ReadEvents(r io.Reader, handle func(Event) error) error {
	in := bufio.NewReaderSize(r, 64<<10)
	var e Event
	for {
		line, err := readLine(in)
		if err != nil {
			return err
		}

		name, value, _ := strings.Cut(line, ": ")
		switch {
		case line == "" && e.Name != "":
			if err := handle(e); err != nil {
				return err
			}
			e = Event{}

		case name == "id":
			if e.ID, err = strconv.ParseInt(value, 10, 64); err != nil {
				return fmt.Errorf("invalid event id %.40q", value)
			}
		case name == "event":
			e.Name = api.EventName(value)
		case name == "data":
			e.Data = json.RawMessage(value)
		}
	}
}

func readLine(in *bufio.Reader) (string, error) {
	var line strings.Builder
	for {
		part, err := in.ReadSlice('\n')
		line.Write(part)
		switch {
		case err == nil:
			return strings.TrimSuffix(line.String(), "\n"), nil
		case errors.Is(err, io.EOF):
			return "", io.ErrUnexpectedEOF
		case !errors.Is(err, bufio.ErrBufferFull):
			return "", err
		case line.Len() > maxEvent:
			return "", errors.New("an event is too long")
		}
	}
}

// Output is the data of a stdout or stderr event.
func (e Event) Output() (api.Bytes, error) {
	var piece struct{ Data api.Bytes }
	err := json.Unmarshal(e.Data, &piece)
	return piece.Data, err
}
