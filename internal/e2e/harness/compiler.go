package harness

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/api"
)

// ShellCompiler is a language of the tiny image. Its compiler executes the source, which creates
// the program main, so a test can have it do anything.
const ShellCompiler = `name: made
aliases: [makes]
image: tiny
extensions: [made]
source_file: main.made
compile: [sh, -c, '. "./$1"', sh, "{source}", "{flags}", "{sources}"]
compile_env: {STAGE: compile}
compile_limits: {wall: 30s, output: 4K, memory: 256M}
artifacts: [main, lib]
flags: [-a, -b]
default_flags: [-a]
run: [./main]
env: {STAGE: run}
`

// CompilerScript is a compiler's script. It creates a program that prints what it was compiled with, a
// random number, and its arguments and stdin.
const CompilerScript = `
mkdir lib; echo of the library >lib/part
{ echo '#!/bin/sh'; echo "echo made $(head -c 8 /dev/urandom | hexdump -e '"%x"') by $*"; cat <<'END'
read line; echo "stage $STAGE args $* stdin $line: $(cat lib/part) $(ls | tr '\n' ' ')"
END
} >main; chmod +x main; echo a warning >&2; echo other >other`

// StartCompiler starts an agent that knows the language made, whose compiler is a script of the shell.
func StartCompiler(t *testing.T, flags ...string) *Agent {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "made.yaml"), []byte(ShellCompiler), 0o644); err != nil {
		t.Fatal(err)
	}
	a := StartAgent(t, append([]string{"--languages", dir}, flags...)...)
	return a
}

// CompiledRun is a run of a source in the language of StartCompiler.
func CompiledRun(source string) api.Run { return api.Run{Language: "made", Source: api.Bytes(source)} }

// Uncached makes a source unknown to the artifact cache, which outlives tests.
func Uncached(t *testing.T, source string) string {
	return fmt.Sprintf("# %s %d\n%s", t.Name(), time.Now().UnixNano(), source)
}
