package rootfs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// fetchNPM lays out the packages of the recipe's lock file in the build's directory,
// where Finish finds them as $node_modules. npm runs as the build's user and runs no
// script of theirs. Each is held to the hash that the lock has of it, those that an
// earlier build downloaded too: the cache they lie in is that user's, so that what it
// holds is believed in nothing.
func (b *debianBuild) fetchNPM(ctx context.Context) error {
	if len(b.recipe.Lock) == 0 {
		return nil
	}
	manifest, err := npmManifest(b.recipe.Lock)
	if err != nil {
		return err
	}
	if err := errors.Join(b.dir.mkdirOwned("npm"), b.dir.mkdirOwned("npm-cache"),
		b.write("npm/package.json", manifest), b.write("npm/package-lock.json", string(b.recipe.Lock))); err != nil {
		return err
	}
	cache := b.dir.file("npm-cache")
	if b.cache != "" {
		cache = filepath.Join(b.cache, "npm")
		if err := b.dir.ownDir(cache); err != nil {
			return fmt.Errorf("package cache: %w", err)
		}
	}
	b.step("fetching packages with npm")
	says := &tail{w: b.log}
	cmd := exec.CommandContext(ctx, "npm", "ci", "--cache", cache, "--ignore-scripts",
		"--no-audit", "--no-fund", "--no-update-notifier", "--prefer-offline", "--logs-max=0")
	cmd.Stdout, cmd.Stderr = says, says
	b.confine(cmd)
	cmd.Dir = b.dir.file("npm")
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("npm ci: %w; it said last:\n%s", errors.Join(context.Cause(ctx), err), says)
	}
	return nil
}

// npmManifest writes the package.json a lock file was made of.
func npmManifest(lock []byte) (string, error) {
	var l struct {
		Packages map[string]json.RawMessage `json:"packages"`
	}
	if err := json.Unmarshal(lock, &l); err != nil {
		return "", fmt.Errorf("read npm's lock file: %w", err)
	}
	root, ok := l.Packages[""]
	if !ok {
		return "", errors.New("read npm's lock file: it names no packages to install")
	}
	return string(root), nil
}

func (w *buildDir) mkdirOwned(name string) error {
	return errors.Join(os.Mkdir(w.file(name), 0o755), w.own(w.file(name)))
}

// ownDir makes a directory that is the build's user's, where there is none yet.
func (w *buildDir) ownDir(path string) error {
	if err := os.MkdirAll(path, 0o755); err != nil {
		return err
	}
	var st unix.Stat_t
	if err := unix.Lstat(path, &st); err != nil || !isDir(st) {
		return errors.Join(fmt.Errorf("%s is no directory", path), err)
	}
	return w.own(path)
}
