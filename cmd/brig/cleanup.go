package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/brig-sandbox/brig/agent/caller"
	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/cmd/brig/cli"
	"github.com/brig-sandbox/brig/internal/sockdir"
	"github.com/brig-sandbox/brig/service/identity"
)

const cleanupUsage = `
Clean up after killed agents: remove their control groups with the processes in
them, their instance directories, and the sockets of private agents. Living agents
are not touched. Every start of an agent does the same for its own --run-dir.

Usage:
  brig cleanup [--all] [--json]

Examples:
  sudo brig cleanup
  sudo brig cleanup --all       # also images without a name, as brig rootfs gc`

// A cleaned is what a cleanup removed, for --json.
type cleaned struct {
	Instances []string     `json:"instances"` // ids of dead agents
	Sockets   []string     `json:"sockets"`   // directories of dead private agents
	Images    *api.Cleaned `json:"images,omitempty"`
}

func cleanupCommand(c *cli.CLI) *cobra.Command {
	k, f := cli.NewCommand("cleanup", cleanupUsage)
	runDir := f.String("run-dir", "", "the `DIR` of the agents' files (default: that of brigd)")
	all := f.Bool("all", false, "also remove images without a name, and the remains of broken imports")
	asJSON := cli.JSONFlag(f)
	socket := cli.SocketFlag(f)
	return c.Does(k, func() int {
		if f.NArg() > 0 {
			return c.Hint("cleanup", fmt.Errorf("brig cleanup takes no argument"))
		}
		if os.Geteuid() != 0 {
			return c.Fail(api.Refuse(api.CodeForbidden, "only root can clean up after agents: use sudo brig cleanup"))
		}

		done := cleaned{Instances: []string{}, Sockets: []string{}}
		instances, err := sweepAgents(*runDir)
		done.Instances = append(done.Instances, instances...)
		serviceID, serr := identity.Choose("")
		if serr == nil {
			var sockets []string
			sockets, serr = sweepSockets(os.TempDir(), uint32(serviceID.UID))
			done.Sockets = append(done.Sockets, sockets...)
		}

		err = errors.Join(err, serr)
		if *all {
			images, ierr := sweepImages(c, *socket)
			done.Images, err = images, errors.Join(err, ierr)
		}
		if *asJSON {
			c.Stdout.Write(cli.Marshal(done))
		} else {
			fmt.Fprint(c.Text(), done)
		}
		if err != nil {
			return c.Fail(err)
		}
		return 0
	})
}

func (d cleaned) String() string {
	var b strings.Builder
	for _, id := range d.Instances {
		fmt.Fprintf(&b, "removed the dead agent %s\n", id)
	}

	for _, dir := range d.Sockets {
		fmt.Fprintf(&b, "removed the dead socket in %s\n", dir)
	}

	if d.Images != nil {
		fmt.Fprintf(&b, "removed %d images, %s\n", len(d.Images.Images), cli.FormatSize(d.Images.Bytes))
	}
	if b.Len() == 0 {
		return "nothing to clean up\n"
	}
	return b.String()
}

// sweepAgents has brigd, which knows what an agent records, remove what dead agents left. It
// returns their ids.
func sweepAgents(runDir string) ([]string, error) {
	bin, err := caller.FindBrigd()
	if err != nil {
		return nil, err
	}

	args := []string{"--sweep"}
	if runDir != "" {
		args = append(args, "--run-dir", runDir)
	}

	var output bytes.Buffer
	cmd := exec.Command(bin, args...)
	cmd.Stderr = &output
	out, err := cmd.Output()
	if err != nil {
		err = fmt.Errorf("clean up after dead agents: %s", cmp.Or(strings.TrimSpace(output.String()), err.Error()))
	}
	return strings.Fields(string(out)), err
}

// sweepSockets removes the directories that startPrivate made for agents that no longer answer. It
// recognizes such a directory by its name, owner (this user, or the one that brig serve becomes),
// mode and the socket in it, so that it does not remove a directory of somebody else.
func sweepSockets(dir string, service uint32) ([]string, error) {
	found, err := filepath.Glob(filepath.Join(dir, "brig-*", "brigd.sock"))
	if err != nil {
		return nil, err
	}

	var removed []string
	for _, socket := range found {
		home := filepath.Dir(socket)
		info, serr := os.Lstat(home)
		if serr != nil || !info.IsDir() || info.Mode().Perm() != 0o700 {
			continue
		}
		if st, ok := info.Sys().(*syscall.Stat_t); !ok || st.Uid != uint32(os.Geteuid()) && st.Uid != service {
			continue
		}

		conn, derr := net.Dial("unix", socket)
		if derr == nil {
			conn.Close()
			continue
		}
		if !errors.Is(derr, syscall.ECONNREFUSED) {
			continue
		}
		if rerr := sockdir.Remove(socket); rerr != nil && !errors.Is(rerr, fs.ErrNotExist) {
			err = errors.Join(err, rerr)
			continue
		}

		removed = append(removed, home)
	}

	return removed, err
}

// sweepImages removes images without a name, through the agent, which owns them.
func sweepImages(c *cli.CLI, socket string) (*api.Cleaned, error) {
	agent, err := c.Connect(socket)
	if err != nil {
		return nil, err
	}
	defer agent.Close()
	images, err := agent.Clean(context.Background())
	if err != nil {
		return nil, agent.Explain(err)
	}
	return &images, nil
}
