package serve

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/cmd/brig/cli"
)

func raw(text string) json.RawMessage { return json.RawMessage(text) }

// What a cell shows: on stdout and stderr, and in files.
func TestCellsAreShown(t *testing.T) {
	png := map[string]json.RawMessage{"text/plain": raw(`"<Figure>"`), "image/png": raw(`"iVBO\nRw=="`)}
	forms := func(mime, value string) map[string]json.RawMessage {
		return map[string]json.RawMessage{mime: raw(value)}
	}
	shown := func(data map[string]json.RawMessage) api.CellEvent {
		return api.CellEvent{Type: api.CellEventDisplay, Data: data}
	}
	mistake := api.CellEvent{Type: api.CellEventError, Name: "E", Value: "v", Traceback: []string{"a", "E: v"}}
	for name, test := range map[string]struct {
		event            api.CellEvent
		pictures         bool
		out, errs, files string
	}{
		"stdout":     {event: api.CellEvent{Type: api.CellEventStdout, Text: "a\n"}, out: "a\n"},
		"stderr":     {event: api.CellEvent{Type: api.CellEventStderr, Text: "a\n"}, errs: "a\n"},
		"result":     {event: api.CellEvent{Type: api.CellEventResult, Data: forms("text/plain", `"21"`)}, out: "21\n"},
		"error":      {event: mistake, errs: "a\nE: v\n"},
		"no lines":   {event: api.CellEvent{Type: api.CellEventError, Name: "died", Value: "v"}, errs: "died: v\n"},
		"fresh":      {event: api.CellEvent{Type: api.CellEventStart, Count: 1, Restarted: true}, errs: "is a fresh one"},
		"a timeout":  {event: api.CellEvent{Type: api.CellEventEnd, Status: api.CellTimeout}, errs: "the cell ended: timeout"},
		"a good end": {event: api.CellEvent{Type: api.CellEventEnd, Status: api.CellOK}},
		"alive":      {event: api.CellEvent{Type: api.CellEventKeepAlive}},

		"a picture":              {event: shown(png), pictures: true, errs: "brig: wrote ", files: "7-1.png"},
		"a picture without out":  {event: shown(png), out: "<Figure>\n", errs: "--out DIR writes it"},
		"SVG":                    {event: shown(forms("image/svg+xml", `"<svg/>"`)), pictures: true, errs: "wrote", files: "7-1.svg"},
		"only JSON":              {event: shown(forms("application/json", `{}`)), errs: "--json shows them"},
		"a picture of no base64": {event: shown(forms("image/png", `"?"`)), pictures: true, errs: "is damaged"},
		"a picture of no text":   {event: shown(forms("image/png", `7`)), pictures: true, errs: "is damaged"},
	} {
		t.Run(name, func(t *testing.T) {
			var out, errs bytes.Buffer
			p := &cellPrinter{CLI: &cli.CLI{Stdout: &out, Stderr: &errs}, count: 7}
			dir := filepath.Join(t.TempDir(), "made", "here")
			if test.pictures {
				p.pictures = dir
			}
			if err := p.event(test.event); err != nil {
				t.Fatal(err)
			}
			if out.String() != test.out || (test.errs == "") != (errs.Len() == 0) || !strings.Contains(errs.String(), test.errs) {
				t.Errorf("stdout %q, stderr %q, want %q, %q", &out, &errs, test.out, test.errs)
			}
			entries, _ := os.ReadDir(dir) // it may be missing
			var files string
			for _, e := range entries {
				files += e.Name()
			}
			if files != test.files {
				t.Errorf("files %q, want %q", files, test.files)
			}
		})
	}
}

// A call of the program is answered, so that it does not wait for ever.
func TestCallsOfCellsAreRefused(t *testing.T) {
	var answered api.KernelAnswer
	var out bytes.Buffer
	p := &cellPrinter{CLI: &cli.CLI{Stdout: &out}, json: true, answer: func(a api.KernelAnswer) error { answered = a; return nil }}
	if err := p.event(api.CellEvent{Type: api.CellEventAsk, ID: "3", Name: "add"}); err != nil {
		t.Fatal(err)
	}
	if answered.ID != "3" || answered.Error == "" || out.String() != `{"type":"ask","name":"add","id":"3"}`+"\n" {
		t.Errorf("%+v, %s", answered, &out)
	}
}

func TestExitCodesOfCells(t *testing.T) {
	for status, want := range map[api.CellStatus]int{api.CellOK: 0, api.CellError: 1, api.CellDied: 1, "": 1,
		api.CellTimeout: 124, api.CellInterrupted: 130} {
		if got := exitOfCell(status); got != want {
			t.Errorf("%q: %d, want %d", status, got, want)
		}
	}
}
