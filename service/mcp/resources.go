package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/brig-sandbox/brig/api"
)

// Addresses of resources.
const (
	languagesURI = "brig://languages"
	runURI       = "brig://runs/{run_id}"
	fileURI      = "brig://sessions/{session_id}/files/{+path}"
)

// wholeMax is the largest file that is read as a resource, which cannot be read in parts.
const wholeMax = 1 << 20

// A History is a Runner that also has the results of earlier runs: an agent keeps none.
type History interface {
	// Record returns what became of a run, whoever waits for it, and however it came.
	Record(ctx context.Context, id string) (api.Status, error)
}

// addResources adds what clients can read without a tool.
func addResources(s *sdk.Server, of runnerOf, history bool) {
	s.AddResource(&sdk.Resource{Name: "languages", Title: "Languages", URI: languagesURI, MIMEType: jsonType,
		Description: "the languages that programs can be written in, with versions"},
		resource(func(ctx context.Context, uri string) (*sdk.ResourceContents, error) {
			all, err := of(ctx).Languages(ctx)
			if err != nil {
				return nil, err
			}
			return jsonResource(uri, tellLanguages(all))
		}))

	s.AddResourceTemplate(&sdk.ResourceTemplate{Name: "session-file", Title: "File of a session", URITemplate: fileURI,
		Description: "a file in /box of a session, at most 1 MiB"},
		resource(func(ctx context.Context, uri string) (*sdk.ResourceContents, error) {
			return fileResource(ctx, of(ctx), uri)
		}))

	if history {
		s.AddResourceTemplate(&sdk.ResourceTemplate{Name: "run", Title: "Result of a run", URITemplate: runURI, MIMEType: jsonType,
			Description: "how a run ended: its verdict, output and use of resources"},
			resource(func(ctx context.Context, uri string) (*sdk.ResourceContents, error) {
				h, is := of(ctx).(History)
				if !is {
					return nil, api.Refuse(api.CodeNotFound, "there is no history")
				}
				status, err := h.Record(ctx, strings.TrimPrefix(uri, "brig://runs/"))
				if err != nil {
					return nil, err
				}
				return jsonResource(uri, status)
			}))
	}
}

const jsonType = "application/json"

// resource makes a handler of a function that reads one resource.
func resource(read func(ctx context.Context, uri string) (*sdk.ResourceContents, error)) sdk.ResourceHandler {
	return func(ctx context.Context, req *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
		contents, err := read(ctx, req.Params.URI)
		if err != nil {
			return nil, resourceFailure(req.Params.URI, err)
		}
		return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{contents}}, nil
	}
}

// resourceFailure makes the error of the protocol of one of brig: what is not there is not there in the protocol's
// words, too.
func resourceFailure(uri string, err error) error {
	if codeOf(err) == api.CodeNotFound {
		return sdk.ResourceNotFoundError(uri)
	}
	return &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: failure(err, reads).Error()}
}

func jsonResource(uri string, v any) (*sdk.ResourceContents, error) {
	text, err := json.Marshal(v)
	return &sdk.ResourceContents{URI: uri, MIMEType: jsonType, Text: string(text)}, err
}

// fileResource reads a file of a session as a whole.
func fileResource(ctx context.Context, r Runner, uri string) (*sdk.ResourceContents, error) {
	session, name, err := fileOf(uri)
	if err != nil {
		return nil, err
	}

	w := &window{max: wholeMax}
	switch err := r.GetFile(ctx, session, name, w); {
	case errors.Is(err, errEnough):
		return nil, api.Refuse(api.CodeTooLarge, "the file has more than the %s of a resource: call the tool read_file, "+
			"which reads it in parts", api.Size(wholeMax))
	case err != nil:
		return nil, err
	}

	content := w.kept.Bytes()
	if len(content) == 0 { // the library leaves an empty text out, and clients refuse contents with neither text nor blob
		return &sdk.ResourceContents{URI: uri, MIMEType: "text/plain", Blob: []byte{}}, nil
	}
	if utf8.Valid(content) && !bytes.ContainsRune(content, 0) {
		return &sdk.ResourceContents{URI: uri, MIMEType: "text/plain", Text: string(content)}, nil
	}
	return &sdk.ResourceContents{URI: uri, MIMEType: "application/octet-stream", Blob: content}, nil
}

// fileOf returns the session and the name of a file of which a resource's address is.
func fileOf(uri string) (session, name string, err error) {
	rest := strings.TrimPrefix(uri, "brig://sessions/")
	session, name, found := strings.Cut(rest, "/files/")
	if name, err = url.PathUnescape(name); err != nil || !found || session == "" {
		return "", "", api.Refuse(api.CodeNotFound, "there is no resource %.200q", uri)
	}
	return session, boxName(name), nil
}
