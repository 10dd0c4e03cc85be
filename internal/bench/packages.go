package main

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"

	"github.com/brig-sandbox/brig/agent/client"
	"github.com/brig-sandbox/brig/agent/egress"
	"github.com/brig-sandbox/brig/api"
)

// packages measures what packages add to a run of Python that has them already, in turns with the same
// program without. It needs the image with the installer, and skips itself without.
func (b *bench) packages(ctx context.Context) (err error) {
	c := b.agent.Client
	all, err := c.Languages(ctx)
	if err != nil {
		return err
	}

	var python api.Language
	for _, l := range all {
		if l.Name == "python" {
			python = l
		}
	}

	if b.cfg.packages == 0 || !python.Stored || python.Packages == nil || !python.Packages.Stored {
		fmt.Fprintln(os.Stderr, "packages are skipped: they need the images python and python-pip")
		return nil
	}

	// The index is on this machine, so that the bench needs no network.
	index, closeIndex, err := tinyIndex()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeIndex()) }()

	plain := api.Run{Language: "python", Source: api.Bytes("print('hello')\n"), NoTemplate: true} // with packages there is none
	with := plain
	with.Requirements, with.Index = []string{"tiny==1.0"}, index
	if err := b.install(ctx, *python.Packages, with); err != nil {
		return fmt.Errorf("install packages: %w", err)
	}

	var without, added row
	for range b.cfg.rounds {
		for _, one := range []struct {
			run api.Run
			row *row
		}{{plain, &without}, {with, &added}} {
			s, err := sandboxed(ctx, c.Run, one.run, 1, b.slots, b.cfg.packages, 0)
			if err != nil {
				return err
			}
			one.row.add(s)
		}
	}

	b.addLine("Python with a set of packages: p50 %.2f ms, p99 %.2f ms; without: p50 %.2f ms, p99 %.2f ms.",
		median(added.p50)/1e3, median(added.p99)/1e3, median(without.p50)/1e3, median(without.p99)/1e3)
	b.atMost("time that packages add to a run of Python that has them, p50",
		median(differences(added.p50, without.p50))/1e3, 1, "ms")
	return nil
}

// install has the packages of a run installed, and relays as brig run does.
func (b *bench) install(ctx context.Context, about api.LanguagePackages, r api.Run) error {
	policy, err := egress.InstallPolicy(ctx, about, r.Index)
	if err != nil {
		return err
	}

	var relay *egress.Relay
	var failed error
	_, err = b.agent.Client.InstallPackages(ctx,
		api.PackageRequest{Language: r.Language, Requirements: r.Requirements, Index: r.Index}, client.Events{
			Network: func(sockets []*os.File) { relay, failed = egress.Start(policy, sockets) },
		})
	if relay != nil && failed == nil {
		relay.Close()
	}
	return errors.Join(err, failed)
}

// tinyIndex serves one wheel on loopback.
func tinyIndex() (url string, closeIndex func() error, err error) {
	var wheel bytes.Buffer
	z := zip.NewWriter(&wheel)
	for _, f := range [][2]string{
		{"tiny.py", "x = 1\n"},
		{"tiny-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: tiny\nVersion: 1.0\n"},
		{"tiny-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nGenerator: bench\nRoot-Is-Purelib: true\nTag: py3-none-any\n"},
		{"tiny-1.0.dist-info/RECORD", ""},
	} {
		w, err := z.Create(f[0])
		if err == nil {
			_, err = w.Write([]byte(f[1]))
		}
		if err != nil {
			return "", nil, err
		}
	}

	if err := z.Close(); err != nil {
		return "", nil, err
	}

	const name = "tiny-1.0-py3-none-any.whl"
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}

	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, name) {
			_, _ = w.Write(wheel.Bytes()) // a client that left gets nothing
			return
		}
		fmt.Fprintf(w, "<a href=%q>%[1]s</a>", name)
	})}

	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	return "http://" + l.Addr().String() + "/simple", func() error {
		err := server.Close()
		<-served //nolint:errcheck // http.ErrServerClosed
		return err
	}, nil
}
