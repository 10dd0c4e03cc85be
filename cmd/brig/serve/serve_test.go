package serve

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/api"
)

// Limits that are too small for the service to work are refused, with the least that works.
func TestServeRefusesBoundsThatAreTooSmall(t *testing.T) {
	minimum := serveOptions{
		queue: 0, wait: time.Millisecond, grace: 0, maxBody: api.KiB, maxBlob: api.KiB, maxProblems: api.MiB, conns: 1, connsEach: 1, bodies: 1,
		historyRuns: 1, historyBytes: api.MiB,
		batchKeep: time.Minute, batchBytes: api.MiB,
	}
	if err := minimum.checkLimits(); err != nil {
		t.Errorf("the least: %v", err)
	}

	for _, tt := range []struct {
		set  func(*serveOptions)
		want string
	}{
		{func(o *serveOptions) { o.queue = -1 }, "--queue is -1: the least is 0, "},
		{func(o *serveOptions) { o.maxProblems = 1 }, "--max-problems is 1: the least is 1M, "},
		{func(o *serveOptions) { o.wait = 0 }, "--wait is 0s: the least is 1ms, "},
		{func(o *serveOptions) { o.grace = -1 }, "--grace is -1ns: the least is 0s, "},
		{func(o *serveOptions) { o.maxBody = 1 }, "--max-body is 1: the least is 1K, "},
		{func(o *serveOptions) { o.maxBlob = 1 }, "--max-blob is 1: the least is 1K, "},
		{func(o *serveOptions) { o.conns = 0 }, "--max-conns is 0: the least is 1, "},
		{func(o *serveOptions) { o.connsEach = 0 }, "--max-conns-address is 0: the least is 1, "},
		{func(o *serveOptions) { o.bodies = 0 }, "--max-bodies is 0: the least is 1, "},
		{func(o *serveOptions) { o.historyRuns = 0 }, "--history-runs is 0: the least is 1, "},
		{func(o *serveOptions) { o.batchSlots = -1 }, "--batch-slots is -1: the least is 0, "},
		{func(o *serveOptions) { o.batchKeep = time.Second }, "--batch-keep is 1s: the least is 1m0s, "},
		{func(o *serveOptions) { o.batchBytes = 1 }, "--batch-bytes is 1: the least is 1M, "},
		{func(o *serveOptions) { o.historyBytes = 1 }, "--history-bytes is 1: the least is 1M, "},
	} {
		o := minimum
		tt.set(&o)
		if err := o.checkLimits(); err == nil || !strings.HasPrefix(err.Error(), tt.want) {
			t.Errorf("%v; want %q", err, tt.want)
		}
	}
}

// A --host that no Host header can match is a mistake, reported at start.
func TestServeRefusesHostsThatAreNoNames(t *testing.T) {
	for host, ok := range map[string]bool{
		"judge.example": true, "judge": true, "192.0.2.7": true, "2001:db8::1": true,
		"": false, "http://judge.example": false, "judge.example:8080": false, "judge.example/": false, "a b": false, "*.example": false,
	} {
		if err := (serveOptions{hosts: []string{"localhost", host}}).checkHosts(); (err == nil) != ok {
			t.Errorf("--host %q: %v", host, err)
		}
	}
}

func TestKeysRemedy(t *testing.T) {
	for entered, want := range map[bool]string{
		true:  "chgrp 7 /k/keys.yaml and chmod 640 /k/keys.yaml",
		false: "chgrp 7 /k and chmod 750 /k; uid 8 must also be able to enter the directories above /k",
	} {
		if got := keysRemedy("/k/keys.yaml", entered, 8, 7); got != want {
			t.Errorf("%q; want %q", got, want)
		}
	}
}

// A process that can connect to a service without keys may run programs, so others must not be
// able to connect.
func TestSocketIsClosedToOthers(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0))

	path := filepath.Join(t.TempDir(), "s")
	ln, err := serveOptions{listen: "unix:" + path}.listenOn()
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()

	st, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if st.Mode().Perm()&0o007 != 0 {
		t.Errorf("mode %04o", st.Mode().Perm())
	}
}
