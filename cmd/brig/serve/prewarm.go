package serve

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/brig-sandbox/brig/agent/caller"
	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/cmd/brig/cli"
	"github.com/brig-sandbox/brig/cmd/brig/images"
)

// findLanguages returns the languages with these names. It refuses an unknown name, before minutes are
// spent on the images of the others.
func findLanguages(ctx context.Context, agent *caller.Agent, names []string) ([]api.Language, error) {
	all, err := agent.Languages(ctx)
	if err != nil {
		return nil, err
	}

	var out []api.Language
	for _, name := range names {
		i := slices.IndexFunc(all, func(l api.Language) bool { return cli.HasName(name, l) })
		if i < 0 {
			return nil, api.Refuse(api.CodeNoLanguage, "--images: there is no language %q: brig languages lists them", name)
		}
		out = append(out, all[i])
	}

	return out, nil
}

// prewarm stores the missing images and runs each image once, so that its files have been read and
// its cell is built. It prints a line for each one that is ready.
func prewarm(ctx context.Context, c *cli.CLI, agent *caller.Agent, wanted []api.Language) error {
	for n, l := range wanted {
		if !l.Stored && os.Geteuid() != 0 {
			return api.Refuse(api.CodeNoImage, "%w, or leave it out of --images", images.MissingImage(l, "language "+l.Name))
		}
		if !l.Stored {
			began := time.Now()
			if err := images.EnsureImage(ctx, c, agent, l, false); err != nil {
				return err
			}
			c.Note("image %s is stored; it took %v", l.Image, time.Since(began).Round(time.Second))
		}

		p := c.Progress("starting a first program in " + l.Name)
		err := prewarmLanguage(ctx, agent, l)
		p.End()
		if err != nil {
			return err
		}

		c.Note("%s is ready (%d of %d)", l.Name, n+1, len(wanted))
	}

	return nil
}

// prewarmLanguage makes the agent build the first cell of a language. It accepts that the image does not
// have the program.
func prewarmLanguage(ctx context.Context, agent *caller.Agent, l api.Language) error {
	_, err := agent.Run(ctx, api.Run{Language: l.Name, Argv: []string{"true"}})
	var e *api.Error
	if errors.As(err, &e) && (e.Code == api.CodeNoProgram || e.Code == api.CodeBadProgram || e.Code == api.CodeBusy) {
		return nil
	}
	return err
}

// logLines turns each line that is written for people into a JSON log record.
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
		l.log(string(l.part[:i]))
		l.part = l.part[i+1:]
	}
}

// flush logs an unfinished last line.
func (l *logLines) flush() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.part) > 0 {
		l.log(string(l.part))
		l.part = nil
	}
}

func (l *logLines) log(line string) {
	slog.New(slog.NewJSONHandler(l.to, nil)).Log(context.Background(), l.level, strings.TrimPrefix(line, "brig: "))
}
