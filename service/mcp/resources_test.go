package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/brig-sandbox/brig/api"
)

// A runnerWithHistory is a Runner that has the result of the run r1.
type runnerWithHistory struct{ *fakeRunner }

func (runnerWithHistory) Record(_ context.Context, id string) (api.Status, error) {
	if id != "r1" {
		return api.Status{}, api.Refuse(api.CodeNotFound, "there is no run %s", id)
	}
	return api.Status{Run: id, State: api.Done, Result: &api.Result{Verdict: api.OK, Stdout: api.Bytes("42\n")}}, nil
}

func TestResources(t *testing.T) {
	c := inMemory(t, runnerWithHistory{&fakeRunner{files: map[string]string{
		"a b.txt": "text", "d/bin": "\x00\xff", "empty": "",
		"large": strings.Repeat("x", wholeMax+1)}}})

	list, err := c.ListResources(t.Context(), nil)
	if err != nil || len(list.Resources) != 1 || list.CacheScope != "public" {
		t.Errorf("%v, %+v", err, list)
	}
	templates, err := c.ListResourceTemplates(t.Context(), nil)
	if err != nil || len(templates.ResourceTemplates) != 2 {
		t.Errorf("%v, %+v", err, templates)
	}

	for _, tt := range []struct{ uri, kind, content string }{
		{"brig://languages", "application/json", `{"languages":[{"name":"python","version":"3.13","available":true}]}`},
		{"brig://runs/r1", "application/json", `"verdict":"ok"`},
		{"brig://sessions/s1/files/a%20b.txt", "text/plain", "text"},
		{"brig://sessions/s1/files/d/bin", "application/octet-stream", "\x00\xff"},
		{"brig://sessions/s1/files/empty", "text/plain", ""},
	} {
		res, err := c.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: tt.uri})
		if err != nil {
			t.Errorf("%s: %v", tt.uri, err)
			continue
		}
		if got := res.Contents[0]; got.MIMEType != tt.kind || !strings.Contains(got.Text+string(got.Blob), tt.content) {
			t.Errorf("%s: %+v", tt.uri, got)
		}
		if got := res.Contents[0]; got.Text == "" && got.Blob == nil {
			t.Errorf("%s has neither text nor blob: clients refuse that", tt.uri)
		}
		if res.CacheScope != "private" || res.TTLMs != 0 {
			t.Errorf("%s may be kept by others: %+v", tt.uri, res.Cacheable)
		}
	}

	for uri, want := range map[string]struct {
		code int64
		says string
	}{
		"brig://runs/r2":                 {jsonrpc.CodeInvalidParams, "not found"},
		"brig://sessions/s1":             {jsonrpc.CodeInvalidParams, "not found"},
		"brig://sessions/s1/files/large": {jsonrpc.CodeInternalError, "brig: too-large: the file has more than the 1M"},
		"brig://sessions/s1/files/%zz":   {jsonrpc.CodeInvalidParams, "not found"},
		"file:///etc/passwd":             {jsonrpc.CodeInvalidParams, "not found"},
	} {
		_, err := c.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: uri})
		var told *jsonrpc.Error
		if !errors.As(err, &told) || told.Code != want.code || !strings.Contains(told.Message, want.says) {
			t.Errorf("%s: %v", uri, err)
		}
	}
}

// An agent keeps no results, so that no client is told of any.
func TestNoHistoryNoResultsOfRuns(t *testing.T) {
	list, err := inMemory(t, &fakeRunner{}).ListResourceTemplates(t.Context(), nil)
	told, merr := json.Marshal(list)
	if err != nil || merr != nil || strings.Contains(string(told), "brig://runs/") {
		t.Errorf("%v, %v, %s", err, merr, told)
	}
}
