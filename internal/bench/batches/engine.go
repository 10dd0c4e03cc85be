package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"
)

// An engine is a NATS server in a process of its own, on loopback without keys.
type engine struct {
	url string
	cmd *exec.Cmd
}

func startEngine(ctx context.Context, dir string) (*engine, error) {
	name := filepath.Join(dir, "nats-server")
	if out, err := exec.CommandContext(ctx, "go", "build", "-o", name,
		"github.com/nats-io/nats-server/v2").CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build nats-server: %w: %s", err, out)
	}

	address, err := freeAddress()
	if err != nil {
		return nil, err
	}

	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}

	e := &engine{url: "nats://" + address,
		cmd: exec.CommandContext(ctx, name, "-js", "-sd", filepath.Join(dir, "store"), "-a", "127.0.0.1", "-p", port)}
	if err := e.cmd.Start(); err != nil {
		return nil, err
	}

	for range 500 {
		if c, err := net.Dial("tcp", address); err == nil {
			return e, c.Close()
		}
		time.Sleep(10 * time.Millisecond)
	}

	e.stop()
	return nil, errors.New("the engine does not listen")
}

func (e *engine) stop() {
	_ = e.cmd.Process.Kill() // it has ended
	_ = e.cmd.Wait()         // its exit code is the signal's
}

// freeAddress is an address of loopback where nothing listens.
func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return "127.0.0.1:" + strconv.Itoa(l.Addr().(*net.TCPAddr).Port), l.Close()
}
