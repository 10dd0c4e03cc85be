package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"

	"github.com/rogpeppe/go-internal/testscript"

	agentclient "github.com/brig-sandbox/brig/agent/client"
	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service"
	"github.com/brig-sandbox/brig/service/auth"
	"github.com/brig-sandbox/brig/service/client"
	"github.com/brig-sandbox/brig/service/core"
	"github.com/brig-sandbox/brig/service/history"
)

// serveScript serves the script's agent at $BRIG_URL, to callers with $RIGHT_KEY.
func serveScript(ts *testscript.TestScript, neg bool, args []string) {
	dir, err := os.MkdirTemp(ts.Getenv("WORK"), "service-")
	ts.Check(err)
	token, line, err := auth.NewKey(auth.Key{Name: "one"})
	ts.Check(err)
	keys, err := auth.ParseKeys([]byte("keys:\n" + line))
	ts.Check(err)
	ctx, cancel := context.WithCancel(context.Background())
	store, err := history.Open(ctx, filepath.Join(dir, "history.db"), history.RetentionLimits{})
	ts.Check(err)
	agent := agentclient.New(ts.Getenv("BRIG_SOCKET"))
	g, err := service.New(ctx, service.Config{Config: core.Config{Agent: agent, History: store, Keys: keys}})
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

// runOverHTTP has the script's service run -c CODE, or CMD ARGS. The task label is hostile: it has
// control characters.
func runOverHTTP(ts *testscript.TestScript, neg bool, args []string) {
	r := api.Run{Image: "i", Argv: args, Labels: api.Labels{Project: "course", Task: "ann\n\x1b"}}
	if args[0] == "-c" {
		r.Image, r.Argv, r.Language, r.Source = "", nil, "python", api.Bytes(args[1])
	}
	_, err := client.New(ts.Getenv("BRIG_URL"), ts.Getenv("RIGHT_KEY")).Run(context.Background(), r)
	ts.Check(err)
}

// refusedOverHTTP sends METHOD PATH, which the script's service refuses, and prints the status and
// the detail.
func refusedOverHTTP(ts *testscript.TestScript, neg bool, args []string) {
	req, err := http.NewRequest(args[0], ts.Getenv("BRIG_URL")+args[1], nil)
	ts.Check(err)
	req.Header.Set("Authorization", "Bearer "+ts.Getenv("RIGHT_KEY"))
	res, err := http.DefaultClient.Do(req)
	ts.Check(err)
	defer res.Body.Close()
	var p api.Problem
	ts.Check(json.NewDecoder(res.Body).Decode(&p))
	fmt.Fprintf(ts.Stdout(), "%d %s\n", res.StatusCode, p.Detail)
}
