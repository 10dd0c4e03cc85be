package remote

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

// An Event is one thing that happened to a run.
type Event struct {
	ID   int64
	Name api.EventName
	Data json.RawMessage
}

// reconnects bounds how often Events comes back without having heard anything new.
const reconnects = 5

// Events tells what happens to a run, from its start to its result, and takes up a
// stream that breaks where it broke. It ends when the run has, when tell returns an
// error, which it returns, or when ctx is done.
func (c *Client) Events(ctx context.Context, id string, tell func(Event) error) error {
	var after int64
	for failed := 0; ; failed++ {
		heard, done, err := c.listen(ctx, id, after, tell)
		switch {
		case done || ctx.Err() != nil:
			return err
		case heard > after:
			after, failed = heard, 0
		case failed == reconnects:
			return fmt.Errorf("the events of run %s break off: %w", id, err)
		}
	}
}

// errTold marks what tell returned.
type errTold struct{ error }

// listen reads one stream. done says not to come back.
func (c *Client) listen(ctx context.Context, id string, after int64, tell func(Event) error) (heard int64, done bool, err error) {
	heard = after
	path := "/v1/runs/" + url.PathEscape(id) + "/events?after=" + strconv.FormatInt(after, 10)
	res, err := c.do(ctx, http.MethodGet, path, "", nil)
	if err != nil {
		return heard, false, err
	}
	defer res.Body.Close()
	if err := refusal(res); err != nil {
		return heard, true, err
	}
	err = ReadEvents(res.Body, func(e Event) error {
		if err := tell(e); err != nil {
			return errTold{err}
		}
		heard = e.ID
		done = done || e.Name == api.EventResult || e.Name == api.EventError
		return nil
	})
	var told errTold
	if errors.As(err, &told) {
		return heard, true, told.error
	}
	if done {
		return heard, true, nil
	}
	return heard, false, err
}

// maxEvent bounds one line of a stream: a result carries what runs may print.
const maxEvent = 1 << 30

// ReadEvents reads server-sent events as the service writes them. At the end of the
// stream the error is io.ErrUnexpectedEOF.
func ReadEvents(r io.Reader, tell func(Event) error) error {
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
			if err := tell(e); err != nil {
				return err
			}
			e = Event{}
		case name == "id":
			if e.ID, err = strconv.ParseInt(value, 10, 64); err != nil {
				return fmt.Errorf("an event's number is %.40q", value)
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
