package batch

import (
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/brig-sandbox/brig/batch/jetstream"
	"github.com/brig-sandbox/brig/batch/keys"
	"github.com/brig-sandbox/brig/cmd/brig/cli"
	"github.com/brig-sandbox/brig/internal/shareddir"
	"github.com/brig-sandbox/brig/service/auth"
	"github.com/brig-sandbox/brig/service/identity"
)

// Whichever command makes a directory first, and whatever the umask, the processes without root of the
// other commands pass through it: those that build images, read registries and serve.
func TestDirectoriesThatOthersPassThrough(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root's commands have a half that runs as another user")
	}

	service := identity.ID{UID: identity.FallbackID, GID: identity.FallbackID}
	log := slog.New(slog.NewTextHandler(io.Discard, nil))
	for _, tt := range []struct {
		name    string
		make    func(dir string) error // below dir, which is missing
		passed  string                 // below dir; other users pass through it
		private string                 // below dir; its owner's alone
		owner   int
	}{
		{"the lock of a build", func(string) error {
			lock, err := cli.LockBuild(t.Context(), "tiny", func() { t.Error("nobody builds") })
			return errors.Join(err, lock.Close())
		}, "", cli.LocksDir, 0},
		{"contents of jobs", func(string) error { _, err := cli.OpenContents(1 << 20); return err }, "", cli.ContentsDir, 0},
		{"an engine", func(string) error {
			o := engineOptions{listen: "127.0.0.1:0", keys: filepath.Join(cli.CacheDir(), "keys")}
			if _, err := keys.Add(o.keys, "w", jetstream.DefaultPool); err != nil {
				return err
			}
			server, engine, err := o.open(t.Context(), "one", log)
			if err == nil {
				engine.Close()
				server.Stop()
			}
			return err
		}, "", cli.EnginesDir, 0},
		{"a worker's key", func(dir string) error { _, err := keys.Add(filepath.Join(dir, "engine"), "w", "p"); return err }, "", "engine", 0},
		{"a certificate", func(dir string) error { _, _, err := keys.Certificate(filepath.Join(dir, "engine")); return err }, "", "engine", 0},
		{"a key of the service", func(dir string) error {
			_, err := auth.AddKey(filepath.Join(dir, "keys.yaml"), -1, auth.Key{Name: "k"}, func(string) error { return nil })
			return err
		}, "", "", 0},
		{"the service's data", func(dir string) error { return service.TakeDataDir(filepath.Join(dir, "gateway")) }, "",
			"gateway", identity.FallbackID},
	} {
		t.Run(tt.name, func(t *testing.T) {
			root, err := os.MkdirTemp("/var/tmp", "brig-shared-")
			if err != nil {
				t.Fatal(err)
			}
			defer os.RemoveAll(root)

			if err := os.Chmod(root, 0o755); err != nil {
				t.Fatal(err)
			}

			dir := filepath.Join(root, "var", "brig")
			t.Setenv("BRIG_CACHE", dir)
			defer syscall.Umask(syscall.Umask(0o077))

			if err := tt.make(dir); err != nil {
				t.Fatal(err)
			}
			if at, err := shareddir.Impassable(filepath.Join(dir, tt.passed)); at != "" || err != nil {
				t.Errorf("other users cannot pass through %s, %v", at, err)
			}
			if tt.private == "" {
				return
			}

			info, err := os.Stat(filepath.Join(dir, tt.private))
			if err != nil {
				t.Fatal(err)
			}

			st, _ := info.Sys().(*syscall.Stat_t)
			if info.Mode() != fs.ModeDir|0o700 || int(st.Uid) != tt.owner {
				t.Errorf("%s has mode %v and belongs to uid %d; want 0700 and uid %d", tt.private, info.Mode(), st.Uid, tt.owner)
			}
		})
	}
}
