package serve

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/brig-sandbox/brig/service/dialect"
	"github.com/brig-sandbox/brig/service/hostfiles"
)

// checkGoJudgeSrc refuses a folder of --go-judge-src that nobody can use, and one in which callers could read what the
// service keeps for itself: the service may read its history, the runs of all keys, and its private key
// (TestGoJudgeSrcHasNothingOfTheService).
func (o serveOptions) checkGoJudgeSrc() error {
	if o.goJudgeSrc == "" {
		return nil
	}
	isGoJudge := func(given string) bool { return strings.HasPrefix(given+"=", dialect.GoJudge+"=") }
	if !slices.ContainsFunc(o.dialects, isGoJudge) {
		return fmt.Errorf("--go-judge-src is of no use without clients of go-judge: add --dialect %s, or leave it out",
			dialect.GoJudge)
	}

	for _, own := range []struct{ flag, path string }{{"--data-dir", o.dataDir}, {"--keys", o.keys}, {"--tls-key", o.key}} {
		if own.path != "" && (isBelow(own.path, o.goJudgeSrc) || own.flag == "--data-dir" && isBelow(o.goJudgeSrc, own.path)) {
			return fmt.Errorf("--go-judge-src %s: callers could read what the service keeps in %s %s: choose another folder",
				o.goJudgeSrc, own.flag, own.path)
		}
	}
	return nil
}

// isBelow reports whether a path is a folder, or below it, wherever links lead.
func isBelow(path, folder string) bool {
	relative, err := filepath.Rel(followed(folder), followed(path))
	return err == nil && filepath.IsLocal(relative)
}

// followed is the path to which links lead, as far as it is there.
func followed(path string) string {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return path
	}
	if linked, err := filepath.EvalSymlinks(absolute); err == nil {
		return linked
	}
	if up := filepath.Dir(absolute); up != absolute {
		return filepath.Join(followed(up), filepath.Base(absolute))
	}
	return absolute
}

// openGoJudgeSrc opens the folder of --go-judge-src, with the rights of the user that the service runs as; nil: none.
func (o serveOptions) openGoJudgeSrc(uid int) (*hostfiles.Folder, error) {
	if o.goJudgeSrc == "" {
		return nil, nil
	}
	f, err := hostfiles.New(o.goJudgeSrc)
	if errors.Is(err, fs.ErrPermission) {
		err = fmt.Errorf("%w: let uid %d, which the service runs as, enter it and the directories above it", err, uid)
	}
	if err != nil {
		return nil, fmt.Errorf("--go-judge-src: %w", err)
	}
	return f, nil
}
