package mcp

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/brig-sandbox/brig/api"
)

// codeNoAnswer is the code of an error that brig did not send, such as a connection that broke.
const codeNoAnswer = "no-answer"

// failure makes the error that a model reads of an error of brig: its code, what happened, and whether the same call
// may be sent again.
func failure(err error, of effect) error {
	var told *api.Problem
	var own *api.Error
	switch {
	case errors.As(err, &told):
		return failureText(string(told.Code), told.Detail, told.RetrySafe, told.RetryAfter)
	case errors.As(err, &own):
		return failureText(string(own.Code), own.Message, own.RetrySafe, int(own.RetryAfter.Seconds()))
	case errors.Is(err, context.Canceled):
		return failureText(string(api.CodeCanceled), "the caller canceled the call", of.repeatable(), 0)
	}
	return failureText(codeNoAnswer, "brig did not answer, or its answer was lost: "+err.Error(), of.repeatable(), 0)
}

// codeOf returns the code of an error of brig; empty: brig did not send it.
func codeOf(err error) api.Code {
	var told *api.Problem
	var own *api.Error
	switch {
	case errors.As(err, &told):
		return told.Code
	case errors.As(err, &own):
		return own.Code
	}
	return ""
}

func failureText(code, detail string, again bool, after int) error {
	advice := "no"
	if again {
		advice = "yes"
	}
	if again && after > 0 {
		advice = fmt.Sprintf("yes, after %d s", after)
	}
	return fmt.Errorf("brig: %s: %s. Safe to try the same call again: %s", code, strings.TrimRight(detail, ". \n"), advice)
}
