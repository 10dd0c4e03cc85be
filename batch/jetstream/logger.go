package jetstream

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"
)

// A logger writes the server's messages to a structured log. Warnings and errors are written at most once a second,
// with the number of those that were not: anyone who reaches the port causes one by each connection without the
// right certificate or key, and could fill a disk (TestConnectionsDoNotFillTheLog).
type logger struct {
	to        *slog.Logger
	problems  rate.Sometimes
	unwritten atomic.Int64
}

func newLogger(to *slog.Logger) *logger {
	return &logger{to: to, problems: rate.Sometimes{Interval: time.Second}}
}

func (l *logger) Noticef(format string, v ...any) { l.to.Debug(fmt.Sprintf(format, v...)) }
func (l *logger) Warnf(format string, v ...any)   { l.problem(slog.LevelWarn, format, v) }
func (l *logger) Errorf(format string, v ...any)  { l.problem(slog.LevelError, format, v) }
func (l *logger) Debugf(format string, v ...any)  { l.to.Debug(fmt.Sprintf(format, v...)) }
func (l *logger) Tracef(string, ...any)           {}

// exitFailed is brig's exit code for a batch that could not go on.
const exitFailed = 125

// Fatalf is called before the server gives up.
func (l *logger) Fatalf(format string, v ...any) {
	l.to.Error(fmt.Sprintf(format, v...))
	os.Exit(exitFailed)
}

func (l *logger) problem(level slog.Level, format string, v []any) {
	l.unwritten.Add(1)
	l.problems.Do(func() {
		var more []any
		if n := l.unwritten.Swap(0) - 1; n > 0 {
			more = []any{"not_logged_before", n}
		}
		l.to.Log(context.Background(), level, fmt.Sprintf(format, v...), more...)
	})
}
