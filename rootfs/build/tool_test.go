package build

import (
	"errors"
	"os"
	"strings"
	"syscall"
	"testing"
)

// A tool that did not start printed nothing: its error names the cause and the cure.
func TestAToolThatFails(t *testing.T) {
	output := &tail{last: []byte("E: no such package\n")}
	for _, tt := range []struct {
		err  error
		want string
	}{
		{errors.New("exit status 100"), "npm ci: exit status 100; its last output:\nE: no such package"},
		{&os.PathError{Op: "fork/exec", Path: "/usr/bin/npm", Err: syscall.EPERM}, "no user namespace: sudo brig doctor says why"},
	} {
		if err := toolFailed(t.Context(), "npm ci", tt.err, output); !errors.Is(err, tt.err) || !strings.HasSuffix(err.Error(), tt.want) {
			t.Errorf("toolFailed(%v) = %v; want %q at its end", tt.err, err, tt.want)
		}
	}
}
