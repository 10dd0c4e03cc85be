package kernels

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"

	"github.com/brig-sandbox/brig/api"
)

// A Said is what a driver says in an event. Of a kind only its own fields are set.
type Said struct {
	Kind   SaidKind
	Event  api.CellEvent // of SaidEvent: what the client of the cell gets
	Cell   int64         // of SaidDone: the cell that has ended
	Status api.CellStatus
}

// A SaidKind says what an event is about.
type SaidKind int

// The kinds.
const (
	SaidEvent SaidKind = iota // something for the client of the cell
	SaidReady                 // the driver waits for its first cell
	SaidDone                  // the cell has ended
)

// The bounds of what an event has.
const (
	maxDepth   = 64  // nested lists and objects
	maxNumber  = 400 // bytes of a number
	maxForms   = 64  // MIME types of a value
	maxMIME    = 200 // bytes of one
	maxName    = 200 // bytes of the name of an error, a tool or an id
	maxLines   = 1000
	maxAskSize = 1 << 20 // bytes of the arguments of a call
)

// heard is the form of an event.
type heard struct {
	Type      string                     `json:"type"`
	Cell      int64                      `json:"cell"`
	Status    api.CellStatus             `json:"status"`
	Data      map[string]json.RawMessage `json:"data"`
	Metadata  map[string]json.RawMessage `json:"metadata"`
	Name      string                     `json:"name"`
	Value     string                     `json:"value"`
	Traceback []string                   `json:"traceback"`
	ID        string                     `json:"id"`
	Args      json.RawMessage            `json:"args"`
	Named     json.RawMessage            `json:"named"`
}

// Understand reads the JSON of an event. It refuses what clients could not read: deep nesting, numbers that are no
// float64, and more than a client expects.
func Understand(body []byte) (Said, error) {
	body = validText(body)
	if err := checkJSON(body); err != nil {
		return Said{}, err
	}
	var h heard
	if err := json.Unmarshal(body, &h); err != nil {
		return Said{}, fmt.Errorf("an event that is not of the form of events: %w", err)
	}

	switch h.Type {
	case "ready":
		return Said{Kind: SaidReady}, nil
	case "done":
		if h.Status != api.CellOK && h.Status != api.CellError && h.Status != api.CellInterrupted {
			return Said{}, fmt.Errorf("a cell that ended with the unknown status %.40q", h.Status)
		}
		return Said{Kind: SaidDone, Cell: h.Cell, Status: h.Status}, nil
	case "display", "result":
		return h.shown()
	case "error":
		return h.failed()
	case "ask":
		return h.asked()
	}
	return Said{}, fmt.Errorf("an event of the unknown type %.40q", h.Type)
}

func (h heard) shown() (Said, error) {
	if len(h.Data) > maxForms || len(h.Metadata) > maxForms {
		return Said{}, fmt.Errorf("a %s with %d forms: it can have %d", h.Type, max(len(h.Data), len(h.Metadata)), maxForms)
	}
	for _, forms := range []map[string]json.RawMessage{h.Data, h.Metadata} {
		for mime := range forms {
			if len(mime) > maxMIME {
				return Said{}, fmt.Errorf("a MIME type of %d bytes: it can have %d", len(mime), maxMIME)
			}
		}
	}
	if h.Data == nil {
		h.Data = map[string]json.RawMessage{}
	}
	return Said{Event: api.CellEvent{Type: api.CellEventType(h.Type), Data: h.Data, Metadata: h.Metadata}}, nil
}

func (h heard) failed() (Said, error) {
	if len(h.Name) > maxName || len(h.Traceback) > maxLines {
		return Said{}, fmt.Errorf("an error with a name of %d bytes and %d lines: it can have %d and %d", len(h.Name),
			len(h.Traceback), maxName, maxLines)
	}
	if h.Traceback == nil {
		h.Traceback = []string{}
	}
	return Said{Event: api.CellEvent{Type: api.CellEventError, Name: h.Name, Value: h.Value, Traceback: h.Traceback}}, nil
}

func (h heard) asked() (Said, error) {
	size := len(h.Args) + len(h.Named)
	switch {
	case h.ID == "" || len(h.ID) > maxName || h.Name == "" || len(h.Name) > maxName:
		return Said{}, fmt.Errorf("a call whose id has %d bytes and whose name %d: each must have 1 to %d", len(h.ID),
			len(h.Name), maxName)
	case size > maxAskSize:
		return Said{}, fmt.Errorf("a call with %d bytes of arguments: it can have %d", size, maxAskSize)
	}

	e := api.CellEvent{Type: api.CellEventAsk, ID: h.ID, Name: h.Name, Args: h.Args, Named: h.Named}
	if len(e.Args) == 0 {
		e.Args = json.RawMessage("[]")
	}
	return Said{Event: e}, nil
}

// checkJSON refuses nesting and numbers that decoders of clients cannot read. It reads what is no JSON, too, and leaves
// it to the decoder.
func checkJSON(body []byte) error {
	depth := 0
	for i := 0; i < len(body); i++ {
		switch c := body[i]; {
		case c == '"':
			for i++; i < len(body) && body[i] != '"'; i++ {
				if body[i] == '\\' {
					i++
				}
			}
		case c == '{' || c == '[':
			if depth++; depth > maxDepth {
				return fmt.Errorf("an event with more than %d lists and objects in each other", maxDepth)
			}
		case c == '}' || c == ']':
			depth--
		case c == '-' || c >= '0' && c <= '9':
			from := i
			for i+1 < len(body) && isNumeric(body[i+1]) {
				i++
			}
			if err := checkNumber(body[from : i+1]); err != nil {
				return err
			}
		}
	}
	return nil
}

func isNumeric(c byte) bool {
	return c >= '0' && c <= '9' || c == '.' || c == '-' || c == '+' || c == 'e' || c == 'E'
}

func checkNumber(text []byte) error {
	if len(text) > maxNumber {
		return fmt.Errorf("a number of %d characters: it can have %d", len(text), maxNumber)
	}
	if v, err := strconv.ParseFloat(string(text), 64); err != nil && math.IsInf(v, 0) {
		return fmt.Errorf("the number %.40s: it is larger than numbers can be", text)
	}
	return nil
}
