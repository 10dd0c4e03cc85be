package serve

import (
	"strings"
	"testing"
)

// --dialect is refused with what is wrong, and nothing listens by then.
func TestDialectFlags(t *testing.T) {
	for _, tt := range []struct {
		dialects      []string
		keys          string
		paths, owners int // prefixes, and addresses of their own
		says          string
	}{
		{nil, "", 0, 0, ""},
		{[]string{"sandboxfusion"}, "", 1, 0, ""},
		{[]string{"go-judge", "go-judge=127.0.0.1:5050"}, "", 1, 1, ""},
		{[]string{"piston", "sandboxfusion", "piston=127.0.0.1:2000"}, "", 2, 1, ""},
		{[]string{"sandboxfusion", "sandboxfusion=127.0.0.1:8081", "sandboxfusion=unix:/run/sf"}, "", 1, 2, ""},
		{[]string{"sandboxfusion=0.0.0.0:8081"}, "keys.yaml", 0, 1, ""},
		{[]string{"sandboxfusion=0.0.0.0:8081"}, "", 0, 0, "--dialect sandboxfusion=0.0.0.0:8081 can be reached from other hosts"},
		{[]string{"sandboxfusion=8081"}, "", 0, 0, `--dialect sandboxfusion="8081": write host:port, or unix:/path`},
		{[]string{"sandboxfusion="}, "", 0, 0, "there is no address after the =: write sandboxfusion=127.0.0.1:8080"},
		{[]string{"sandboxfusion", "sandboxfusion"}, "", 0, 0, "--dialect sandboxfusion is given twice"},
		{[]string{"sandboxfusion=127.0.0.1:8080"}, "", 0, 0, "has the address of --listen"},
		{[]string{"sandbox-fusion"}, "", 0, 0, `there is no dialect "sandbox-fusion": did you mean sandboxfusion? (brig has agent-sandbox, code-judge, e2b, go-judge, jobe, judge0, jupyter, k8s, librechat, piston, sandboxfusion)`},
		{[]string{""}, "", 0, 0, `there is no dialect ""`},
	} {
		paths, own, err := serveOptions{dialects: tt.dialects, keys: tt.keys, listen: "127.0.0.1:8080"}.findDialects()
		said := ""
		if err != nil {
			said = err.Error()
		}
		if len(paths) != tt.paths || len(own) != tt.owners || (tt.says == "") != (err == nil) || !strings.Contains(said, tt.says) {
			t.Errorf("%q: %d, %d, %v; want %d, %d, %q", tt.dialects, len(paths), len(own), err, tt.paths, tt.owners, tt.says)
		}
	}
}

// A dialect that other hosts reach without TLS is noted, as --listen is.
func TestAllLocal(t *testing.T) {
	for address, want := range map[string]bool{"127.0.0.1:1": true, "unix:/s": true, "0.0.0.0:1": false} {
		o := serveOptions{listen: "127.0.0.1:8080"}
		if got := o.allLocal([]dialectAddress{{address: address}}); got != want {
			t.Errorf("%s: %v", address, got)
		}
	}
}
