package service

import (
	"context"
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/agent/client"
	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/e2e/harness"
)

// A program that a run has made is kept at the agent, and later runs execute it. To another key, and in another agent's
// store, it does not exist. The same holds for an exec of a session.
func TestCollectedBlobs(t *testing.T) {
	a := harness.StartParallelAgent(t, append(harness.SharedFlags, "--blob-cache", "4M")...)
	file, keys := harness.KeysFile(t, a.Dir, "ann", "bob")
	s := harness.StartService(t, a, "--keys", file)
	ann, bob := s.WithKey(keys["ann"]), s.WithKey(keys["bob"])

	script := `printf '#!/bin/sh\necho it runs\n' >prog; chmod +x prog; head -c 1048576 /dev/zero >large; head -c 5242880 /dev/zero >huge`
	var res api.Result
	ann.Call("POST", "/v1/runs", api.Run{Image: "tiny", Argv: []string{"sh", "-c", script},
		Collect: api.Collect{Globs: []string{"prog", "large", "huge"}, Blobs: true}}, 200, &res)
	if len(res.Files) != 2 || len(res.Skipped) != 1 || res.Skipped[0].Name != "huge" {
		t.Fatalf("%+v, skipped %+v", res.Files, res.Skipped)
	}
	large, prog := res.Files[0], res.Files[1]
	if large.Size != api.MiB || len(large.Content) > 0 || !prog.Executable || len(prog.Content) > 0 {
		t.Fatalf("%+v", res.Files)
	}

	use := api.Run{Image: "tiny", Argv: []string{"/box/tool"}, Files: []api.File{{Name: "tool", Blob: prog.Blob, Executable: true}}}
	var used api.Result
	ann.Call("POST", "/v1/runs", use, 200, &used)
	if string(used.Stdout) != "it runs\n" {
		t.Errorf("%+v", used)
	}
	if got := ann.GetText("/v1/blobs/" + large.Blob); got != strings.Repeat("\x00", int(api.MiB)) {
		t.Errorf("%d bytes are read", len(got))
	}
	bob.Refused("POST", "/v1/runs", use, 404, api.CodeNoBlob)
	bob.Refused("GET", "/v1/blobs/"+prog.Blob, nil, 404, api.CodeNoBlob)

	id := newSession(ann, "p", "t")
	var done api.Result
	ann.Call("POST", "/v1/sessions/"+id+"/exec", api.Exec{Argv: []string{"sh", "-c", "echo left >out"},
		Collect: api.Collect{Globs: []string{"out"}, Blobs: true}}, 200, &done)
	if len(done.Files) != 1 || ann.GetText("/v1/blobs/"+done.Files[0].Blob) != "left\n" {
		t.Errorf("an exec: %+v, %+v", done.Files, done.Skipped)
	}

	// Without a service, the blob is of the agent's caller.
	direct, err := client.New(a.Socket).Run(context.WithoutCancel(t.Context()), api.Run{Image: "tiny",
		Argv: []string{"sh", "-c", "echo mine >out"}, Collect: api.Collect{Blobs: true}})
	if err != nil || len(direct.Files) != 1 || direct.Files[0].Blob == "" {
		t.Fatalf("%+v, %v", direct, err)
	}
	ann.Refused("GET", "/v1/blobs/"+direct.Files[0].Blob, nil, 404, api.CodeNoBlob)
}
