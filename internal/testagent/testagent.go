// Package testagent starts a separate brigd for a measuring tool, with an image to run
// in. The tools measure what a caller sees, and do not disturb the host's agent.
package testagent

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/spf13/pflag"
	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/agent/client"
	"github.com/brig-sandbox/brig/rootfs"
)

// Options say where the binaries are and which image is used.
type Options struct {
	Bin   string // directory of brig and brigd
	Image string // archive to import; empty: Store must have Name
	Store string // data directory of brigd; empty: the host's if it has Name, else a new one
	Name  string // name of the image
}

// Register defines the flags that set o.
func (o *Options) Register(f *pflag.FlagSet) {
	f.StringVar(&o.Bin, "bin", "bin", "directory of brig and brigd")
	f.StringVar(&o.Image, "image", "", "image `ARCHIVE` to run in (default: the stored image --name, built if missing)")
	f.StringVar(&o.Store, "store", "", "existing data `DIR` of brigd to use")
	f.StringVar(&o.Name, "name", "python", "`NAME` of the image")
}

// hostStore is brigd's default data directory.
const hostStore = "/var/lib/brig"

// EnsureImage finds the image, and builds it below dir if the host has none.
func (o *Options) EnsureImage(ctx context.Context, dir string) error {
	if o.Image != "" || o.Store != "" {
		return nil
	}
	if _, err := imageDir(hostStore, o.Name); err == nil {
		o.Store = hostStore
		return nil
	}

	fmt.Fprintf(os.Stderr, "building image %s: it is not stored on this host\n", o.Name)
	o.Image = filepath.Join(dir, o.Name+".tar.zst")
	build := exec.CommandContext(ctx, filepath.Join(o.Bin, "brig"), "rootfs", "build", o.Name, "--out", o.Image)
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		return fmt.Errorf("build image %s: %w", o.Name, err)
	}
	return nil
}

// imageDir returns the image's directory in the store in data.
func imageDir(data, name string) (string, error) {
	s, err := rootfs.Open(filepath.Join(data, "images"))
	if err != nil {
		return "", err
	}
	img, err := s.Lookup(name)
	return img.Path, err
}

// ImageDir returns the directory of an image in the agent's store.
func (a *Agent) ImageDir(image string) (string, error) { return imageDir(a.Data, image) }

// An Agent is a brigd started for the caller alone.
type Agent struct {
	Cmd      *exec.Cmd
	Client   *client.Client
	Dir      string // holds its socket, log and run directory
	Data     string // its data directory
	Rootfs   string // directory of the image
	lifeline *os.File
}

// Start starts an agent with its files below dir. flags are additional flags of brigd.
// The caller must Stop it.
func Start(ctx context.Context, o Options, dir string, flags ...string) (_ *Agent, err error) {
	if o.Store == "" {
		o.Store = filepath.Join(dir, "data")
	}

	socket := filepath.Join(dir, "brigd.sock")
	a := &Agent{Dir: dir, Data: o.Store, Client: client.New(socket)}
	a.Cmd = exec.Command(filepath.Join(o.Bin, "brigd"), append([]string{
		"--socket", socket, "--data-dir", o.Store, "--run-dir", filepath.Join(dir, "run"),
		"--lifeline-fd", "3"}, flags...)...)
	log, err := os.Create(filepath.Join(dir, "brigd.log"))
	if err != nil {
		return nil, err
	}
	defer log.Close()

	a.Cmd.Stderr = log
	lifeline, held, err := os.Pipe() // whatever ends this process (also a closed pipe to a pager) ends the agent
	if err != nil {
		return nil, err
	}
	defer lifeline.Close()

	a.lifeline, a.Cmd.ExtraFiles = held, []*os.File{lifeline}
	if err := a.Cmd.Start(); err != nil {
		return nil, errors.Join(err, held.Close())
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, a.Stop())
		}
	}()

	for start := time.Now(); ; time.Sleep(time.Millisecond) {
		if _, err := a.Client.Health(ctx); err == nil {
			break
		}
		if time.Since(start) > 10*time.Second {
			text, _ := os.ReadFile(log.Name())
			return nil, fmt.Errorf("brigd does not answer:\n%s", text)
		}
	}

	if o.Image != "" {
		if err := a.load(ctx, o.Image, o.Name); err != nil {
			return nil, err
		}
	}

	a.Rootfs, err = imageDir(o.Store, o.Name)
	return a, err
}

func (a *Agent) load(ctx context.Context, archive, name string) error {
	f, err := os.Open(archive)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = a.Client.Import(ctx, f, name, "")
	return err
}

// Stop ends the agent as a service manager would, and waits until it has exited.
func (a *Agent) Stop() error {
	a.Client.Close()
	err := a.Cmd.Process.Signal(unix.SIGTERM)
	return errors.Join(err, a.Cmd.Wait(), a.lifeline.Close())
}
