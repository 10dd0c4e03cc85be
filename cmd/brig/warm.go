package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/brig-sandbox/brig/api"
)

// warm sees to it that the images are there, and that each has run once: its files
// are read, its cell is built. Each that is done is told in a line.
func (c *console) warm(ctx context.Context, agent *agentHandle, names []string) error {
	all, err := agent.Languages(ctx)
	if err != nil {
		return err
	}
	called := func(name string) int {
		return slices.IndexFunc(all, func(l api.Language) bool { return l.Name == name || slices.Contains(l.Aliases, name) })
	}
	for _, name := range names { // before minutes go into the images of the others
		if called(name) < 0 {
			return api.Refuse(api.CodeNoLanguage, "--images names %q, which is no language: brig languages lists them", name)
		}
	}
	for n, name := range names {
		i := called(name)
		if !all[i].Stored && os.Geteuid() != 0 {
			return api.Refuse(api.CodeNoImage, "image %s of language %s is not stored: build it with sudo brig rootfs build %s, or leave it out of --images", all[i].Image, name, all[i].Image)
		}
		if !all[i].Stored {
			began := time.Now()
			if err := c.buildMissing(ctx, agent, all[i]); err != nil {
				return err
			}
			fmt.Fprintf(c.stderr, "brig: image %s is stored, after %v\n", all[i].Image, time.Since(began).Round(time.Second))
		}
		p := c.progress("starting a first program in " + all[i].Name)
		err := warmUp(ctx, agent, all[i])
		p.end()
		if err != nil {
			return err
		}
		fmt.Fprintf(c.stderr, "brig: %s is ready (%d of %d)\n", all[i].Name, n+1, len(names))
	}
	return nil
}

// warmUp has the first cell of a language built. An image need not have the program.
func warmUp(ctx context.Context, agent *agentHandle, l api.Language) error {
	_, err := agent.Run(ctx, api.Run{Language: l.Name, Argv: []string{"true"}})
	var e *api.Error
	if errors.As(err, &e) && (e.Code == api.CodeNoProgram || e.Code == api.CodeBadProgram || e.Code == api.CodeBusy) {
		return nil
	}
	return err
}

// logLines makes a record of the log of each line that is written for people.
type logLines struct {
	to io.Writer

	mu    sync.Mutex
	level slog.Level
	part  []byte // guarded by mu; of a line
}

func (l *logLines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.part = append(l.part, p...)
	for {
		i := bytes.IndexByte(l.part, '\n')
		if i < 0 {
			return len(p), nil
		}
		l.tell(string(l.part[:i]))
		l.part = l.part[i+1:]
	}
}

// flush tells a line that has no end.
func (l *logLines) flush() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.part) > 0 {
		l.tell(string(l.part))
		l.part = nil
	}
}

func (l *logLines) tell(line string) {
	slog.New(slog.NewJSONHandler(l.to, nil)).Log(context.Background(), l.level, strings.TrimPrefix(line, "brig: "))
}
