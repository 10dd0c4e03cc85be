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

	"github.com/brig-sandbox/brig/api"
)

// StartKernel makes a kernel in a session, and returns when its interpreter is ready.
func (c *Client) StartKernel(ctx context.Context, session string, ask api.KernelRequest) (k api.Kernel, err error) {
	return k, c.call(ctx, http.MethodPost, kernelsPath(session), ask, &k)
}

// Kernels lists the kernels of a session.
func (c *Client) Kernels(ctx context.Context, session string) ([]api.Kernel, error) {
	var page api.Page[api.Kernel]
	err := c.call(ctx, http.MethodGet, kernelsPath(session), nil, &page)
	return page.Items, err
}

// Kernel describes one kernel.
func (c *Client) Kernel(ctx context.Context, session, id string) (k api.Kernel, err error) {
	return k, c.call(ctx, http.MethodGet, kernelPath(session, id), nil, &k)
}

// InterruptKernel ends the cell that a kernel executes. If it executes none, nothing happens.
func (c *Client) InterruptKernel(ctx context.Context, session, id string) error {
	return c.call(ctx, http.MethodPost, kernelPath(session, id)+"/interrupt", nil, nil)
}

// RestartKernel gives a kernel a fresh interpreter, and returns when that is ready.
func (c *Client) RestartKernel(ctx context.Context, session, id string) (k api.Kernel, err error) {
	return k, c.call(ctx, http.MethodPost, kernelPath(session, id)+"/restart", nil, &k)
}

// DeleteKernel ends a kernel, with the processes of its interpreter.
func (c *Client) DeleteKernel(ctx context.Context, session, id string) error {
	return c.call(ctx, http.MethodDelete, kernelPath(session, id), nil, nil)
}

// ExecuteCell executes a cell, calls handle with each event of it as it arrives, and returns the last one. An error of
// handle, or the end of ctx, leaves the cell, which interrupts it.
func (c *Client) ExecuteCell(ctx context.Context, session, id string, cell api.Cell,
	handle func(api.CellEvent) error) (end api.CellEvent, err error) {
	res, err := c.send(ctx, http.MethodPost, kernelPath(session, id)+"/execute", cell)
	if err != nil {
		return end, err
	}
	defer res.Body.Close()
	if err := refusal(res); err != nil {
		return end, err
	}

	lines := bufio.NewScanner(res.Body)
	lines.Buffer(nil, maxCellLine)
	for lines.Scan() {
		var e api.CellEvent
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			return end, fmt.Errorf("decode an event of the cell: %w", err)
		}
		if err := handle(e); err != nil {
			return end, err
		}
		if e.Type == api.CellEventEnd {
			return e, nil
		}
	}
	err = lines.Err()
	if err == nil {
		err = io.ErrUnexpectedEOF
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		err = fmt.Errorf("the events of the cell broke off: it was interrupted: %w", err)
	}
	return end, err
}

// maxCellLine is the longest event: 8 MiB of JSON, in which the service may write a byte as six.
const maxCellLine = 50 << 20

// AnswerCall answers the event ask of a cell.
func (c *Client) AnswerCall(ctx context.Context, session, id string, a api.KernelAnswer) error {
	return c.call(ctx, http.MethodPost, kernelPath(session, id)+"/answer", a, nil)
}

func kernelsPath(session string) string { return sessionPath(session) + "/kernels" }

func kernelPath(session, id string) string { return kernelsPath(session) + "/" + url.PathEscape(id) }
