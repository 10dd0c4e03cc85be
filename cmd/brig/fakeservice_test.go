package main

import (
	"context"
	"net"
	"os"
	"path/filepath"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/brig-sandbox/brig/client"
	"github.com/brig-sandbox/brig/gateway"
	"github.com/brig-sandbox/brig/history"
)

// serveScript serves the script's agent at $BRIG_URL, to who has $RIGHT_KEY.
func serveScript(ts *testscript.TestScript, neg bool, args []string) {
	dir, err := os.MkdirTemp(ts.Getenv("WORK"), "service-")
	ts.Check(err)
	token, line, err := gateway.NewKey(gateway.Key{Name: "one"})
	ts.Check(err)
	keys, err := gateway.ParseKeys([]byte("keys:\n" + line))
	ts.Check(err)
	ctx, cancel := context.WithCancel(context.Background())
	store, err := history.Open(ctx, filepath.Join(dir, "history.db"), history.Keep{})
	ts.Check(err)
	agent := client.New(ts.Getenv("BRIG_SOCKET"))
	g, err := gateway.New(ctx, gateway.Config{Agent: agent, History: store, Keys: keys})
	ts.Check(err)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	ts.Check(err)
	done := make(chan error, 1)
	go func() { done <- g.Serve(ctx, ln) }()
	ts.Defer(func() {
		cancel()
		<-done
		store.Close()
		agent.Close()
	})
	ts.Setenv("BRIG_URL", "http://"+ln.Addr().String())
	ts.Setenv("RIGHT_KEY", token)
}
