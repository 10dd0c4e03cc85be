package build

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/internal/shareddir"
)

// fetchNPM installs the packages of the recipe's lock file in the build's directory, where Finish
// finds them as $node_modules. npm runs as the build's user and runs no scripts of the packages. It
// checks each package against the hash in the lock file, including packages that an earlier build
// downloaded: the cache belongs to that unprivileged user, so nothing in it is trusted.
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
		if err := b.dir.mkdirCache(cache); err != nil {
			return fmt.Errorf("package cache: %w", err)
		}
	}

	b.step("fetching packages with npm")
	output := &tail{w: b.log}
	cmd := exec.CommandContext(ctx, "npm", "ci", "--cache", cache, "--ignore-scripts",
		"--no-audit", "--no-fund", "--no-update-notifier", "--prefer-offline", "--logs-max=0")
	cmd.Stdout, cmd.Stderr = output, output
	b.confine(cmd)
	cmd.Dir = b.dir.file("npm")
	if err := cmd.Run(); err != nil {
		return toolFailed(ctx, "npm ci", err, output)
	}
	return nil
}

// cutSymbols is a function of the shell for the Finish of recipes with npm packages, whose host has
// Node: it cuts off what an ELF file has after the last byte that is loaded, the symbols. strip may
// be missing, and two versions of it may differ.
const cutSymbols = `
cut_symbols() {
  node - "$1" <<'JS'
  const fs = require('fs'), name = process.argv[2], elf = fs.readFileSync(name);
  const first = Number(elf.readBigUInt64LE(32)), size = elf.readUInt16LE(54), last = first + size * elf.readUInt16LE(56);
  let end = last;
  for (let at = first; at < last; at += size) end = Math.max(end, Number(elf.readBigUInt64LE(at + 8) + elf.readBigUInt64LE(at + 32)));
  elf.fill(0, 40, 48).fill(0, 60, 64); // there is no table of sections
  fs.writeFileSync(name, elf.subarray(0, end));
JS
}
`

// npmManifest returns the package.json that a lock file was made from.
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
	return errors.Join(os.Mkdir(w.file(name), 0o755), w.chown(w.file(name)))
}

// mkdirCache makes a directory below the cache and gives it to the build's user, who must be able to
// reach it: npm's own error names neither the directory in its way nor a cure.
func (w *buildDir) mkdirCache(path string) error {
	if err := shareddir.Make(path); err != nil {
		return err
	}

	var st unix.Stat_t
	if err := unix.Lstat(path, &st); err != nil || st.Mode&unix.S_IFMT != unix.S_IFDIR {
		return errors.Join(fmt.Errorf("%s is not a directory", path), err)
	}
	if os.Geteuid() == 0 {
		if err := shareddir.CheckPassable(filepath.Dir(path), "npm's cache", buildBase); err != nil {
			return err
		}
	}

	return w.chown(path)
}
