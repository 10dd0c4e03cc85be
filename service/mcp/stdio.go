package mcp

import (
	"context"
	"io"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// Serve answers one client, which sends its messages as lines of in, until in or ctx ends.
func Serve(ctx context.Context, r Runner, version string, in io.Reader, out io.Writer) error {
	from, closes := in.(io.ReadCloser)
	if !closes {
		from = io.NopCloser(in)
	}
	return NewServer(r, version).Run(ctx, &sdk.IOTransport{Reader: from, Writer: leftOpen{out}})
}

// leftOpen is a writer that its user does not close.
type leftOpen struct{ io.Writer }

func (leftOpen) Close() error { return nil }
