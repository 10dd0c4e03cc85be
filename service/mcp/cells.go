package mcp

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/brig-sandbox/brig/api"
)

// RunCell are the arguments of run_cell.
type RunCell struct {
	Session  string  `json:"session_id" jsonschema:"id of the session"`
	Code     string  `json:"code" jsonschema:"the code of the cell"`
	Kernel   string  `json:"kernel_id,omitempty" jsonschema:"id of the kernel; none: the oldest one of the language in the session, which is started if there is none"`
	Language string  `json:"language,omitempty" jsonschema:"without kernel_id: python, javascript or bash; none: python"`
	Timeout  float64 `json:"timeout_seconds,omitempty" jsonschema:"the cell is interrupted after this time; none: 60"`
}

// cellTime is how long a cell may take that sets no time: clients wait for an answer about as long.
const cellTime = time.Minute

// planCell makes the cell of run_cell.
func planCell(in RunCell) (c api.Cell, err error) {
	if in.Kernel != "" && in.Language != "" {
		return c, api.Refuse(api.CodeBadRequest, "a kernel has its language: leave language out, or kernel_id")
	}
	c.Code = in.Code
	c.Timeout, err = spanOf("timeout_seconds", in.Timeout, time.Second)
	if err != nil {
		return c, err
	}
	c.Timeout = cmp.Or(c.Timeout, api.Duration(cellTime))
	return c, c.Validate()
}

// kernelTag is the tag of the kernel of a language that run_cell starts. A session has one of a tag, so that two calls at
// once begin one kernel.
func kernelTag(language api.KernelLanguage) string { return "mcp-" + string(language) }

// kernelFor returns the kernel that a call without kernel_id means.
func kernelFor(ctx context.Context, r Live, in RunCell) (string, error) {
	language := cmp.Or(api.KernelLanguage(in.Language), api.KernelPython)
	ask := api.KernelRequest{Language: language, Tag: kernelTag(language)}
	if err := ask.Validate(); err != nil {
		return "", err
	}
	for last := false; ; last = true {
		all, err := r.Kernels(ctx, in.Session)
		if err != nil {
			return "", err
		}
		for _, k := range all {
			if k.Language == language {
				return k.ID, nil
			}
		}

		made, err := r.StartKernel(ctx, in.Session, ask)
		if last || codeOf(err) != api.CodeConflict { // another call has just started it
			return made.ID, err
		}
	}
}

// runCell executes a cell in a kernel.
func runCell(ctx context.Context, r Live, in RunCell) (CellOutcome, error) {
	c, err := planCell(in)
	if err != nil {
		return CellOutcome{}, err
	}
	kernel := in.Kernel
	if kernel == "" {
		if kernel, err = kernelFor(ctx, r, in); err != nil {
			return CellOutcome{}, err
		}
	}

	notes := cellNotes{}
	end, err := r.ExecuteCell(ctx, in.Session, kernel, c, func(e api.CellEvent) error {
		if e.Type == api.CellEventAsk { // the program is not to wait for what never comes
			return r.AnswerCall(ctx, in.Session, kernel, api.KernelAnswer{ID: e.ID,
				Error: fmt.Sprintf("there is no tool %.200q: a cell of run_cell can call none", e.Name)})
		}
		notes.add(e)
		return nil
	})
	return notes.outcome(kernel, end), err
}
