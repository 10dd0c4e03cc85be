package languages

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/corpus"
	"github.com/brig-sandbox/brig/internal/e2e/harness"
)

// printSurroundings makes a compiler's script create a program that prints what it finds.
const printSurroundings = `cat >main <<'END'
#!/bin/sh
ls -A /box /tmp /dev/shm; echo "leftover $LEFT"; for p in /proc/[0-9]*; do tr '\0' ' ' <$p/cmdline; echo; done
END
chmod +x main; mkdir lib; echo part >lib/part
`

// CMP-05: code that runs at compile time is as confined as a run: it reaches neither the host's
// files nor its network nor the agent's environment, and leaves the image unchanged.
func TestHostileCompileTimeCode(t *testing.T) {
	c := harness.NewCanaries(t)
	t.Setenv(corpus.EnvName, corpus.EnvSecret)
	a := harness.StartCompiler(t, "--slots", "1")
	stored := harness.StoredFiles(t, a)
	reach := strings.Join(c.Expand([]string{"id; env; cat $CANARY; cat /proc/1/environ; echo x >$CANARY; echo x " +
		">/bin/new; kill -9 $VICTIM; for h in 127.0.0.1:$PORT 10.0.0.1:80; do nc -w 1 ${h%:*} ${h#*:} </dev/null; done"}), "")
	for _, mode := range []api.Mode{api.Strict, api.Fresh} {
		r := harness.CompiledRun(harness.Uncached(t, "{ "+reach+"; } 2>&1 | tee said >&2\n"+printSurroundings))
		r.Mode, r.Source = mode, append(r.Source, "# "+mode...)
		res := a.MustRun(t, r)
		harness.WantVerdict(t, res, api.OK)
		said := string(res.Compile.Stderr)
		for _, secret := range c.Secrets() {
			if strings.Contains(said, secret) {
				t.Errorf("the compile stage reads %q", secret)
			}
		}

		if !strings.Contains(said, "uid=1000") || !strings.Contains(said, "STAGE=compile") {
			t.Errorf("the script did not get so far: %.1000q", said)
		}

		c.Untouched(t)
		stored.Unchanged(t)
	}
}

// CMP-09, CMP-10: the run stage finds nothing of the compile stage but the artifacts: no process,
// no file, no variable. Neither does the host.
func TestHostileCompileLeavesNothing(t *testing.T) {
	a := harness.StartCompiler(t, "--slots", "1")
	name := fmt.Sprintf("survivor-%d", os.Getpid())
	survivor := harness.CompileC(t, name, `#include <unistd.h>
int main(void) { for (int i = 0; i < 3; i++) if (!fork()) { setsid(); if (!fork()) for (;;) pause(); } return 0; }`)
	r := harness.CompiledRun(harness.Uncached(t,
		"./"+name+" >/dev/null 2>&1 </dev/null\nexport LEFT=yes; for d in . /tmp /dev/shm; do echo answer "+
			">$d/RESIDUE; ln -s /etc/passwd $d/alink; done; mkfifo pipe\n"+printSurroundings))
	r.Files = []api.File{survivor}

	for _, mode := range []api.Mode{api.Strict, api.Fresh, api.Strict} {
		r.Mode, r.Source = mode, append(slices.Clone(r.Source), '#')
		res := a.MustRun(t, r)
		harness.WantVerdict(t, res, api.OK)
		said := string(res.Stdout)
		for _, bad := range []string{"RESIDUE", "alink", "pipe", "leftover yes", "./" + name + " "} {
			if strings.Contains(said, bad) {
				t.Errorf("%s: the run finds %q of the compile stage: %q", mode, bad, said)
			}
		}

		if !strings.Contains(said, "main") || !strings.Contains(said, "lib") || !strings.Contains(said, "leftover \n") {
			t.Errorf("%s: the run says %q", mode, said)
		}
		if left := harness.ProcessesNamed(t, "./"+name); len(left) != 0 {
			t.Errorf("processes of a compile stage are alive: %v", left)
		}
	}
}

// CMP-07, CMP-08: the artifact is a regular file of a bounded size, or the program does not
// compile.
func TestHostileArtifacts(t *testing.T) {
	a := harness.StartCompiler(t, "--slots", "1")
	for _, tt := range []struct{ name, script string }{
		{"a link out", "ln -s /etc/passwd main"},
		{"a link to a file next to it", "cp /bin/busybox real; ln -s real main"},
		{"a link to the source", "ln -s main.made main"},
		{"a directory", "mkdir main"},
		{"a pipe", "mkfifo main"},
		{"a pipe someone writes to", "mkfifo main || exit 9; (while :; do echo x >main; done) &"},
		{"a socket", "nc -lU main & sleep 0.2"},
		{"a device", "mknod main c 1 5"},
		{"a file of holes", "truncate -s 400M main"},
		{"more files than there may be", "cp /bin/sh main; i=0; while [ $i -lt 1100 ]; do : >lib/$i; i=$((i+1)); done"},
		{"a directory that is a link", "cp /bin/sh main; rm -r lib; ln -s /etc lib"},
		{"a link below a directory", "cp /bin/sh main; ln -s /etc/passwd lib/p"},
		{"nothing", ""},
		{"a file that fills the scratch", "head -c 1000000000 /dev/zero >main"},
		{"one that is swapped all the while", "cp /bin/sh real; (while :; do ln -sf /etc/passwd main; ln -f real main; done) &"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := harness.CompiledRun(harness.Uncached(t, "mkdir lib; : >lib/x\n"+tt.script+"\nexit 0"))
			r.Argv = []string{"x"}
			began := time.Now()
			res := a.MustRun(t, r)
			if strings.HasPrefix(tt.name, "one that is swapped") && res.Verdict != api.CompileError {
				if !bytes.Contains(res.Stdout, []byte("root:")) {
					return // it was a regular file at that moment
				}
			}

			harness.WantVerdict(t, res, api.CompileError)
			if res.Stage != api.StageCompile || len(res.Skipped) == 0 && len(res.LimitsHit) == 0 && res.ExitCode == 0 || len(res.Files) != 0 {
				t.Errorf("stage %s, skipped %v, limits %v, %d files", res.Stage, res.Skipped, res.LimitsHit, len(res.Files))
			}
			if took := time.Since(began); took > harness.Slow(time.Minute) { // the wall limit of the compiler is 30 s
				t.Errorf("it took %s", took)
			}

			harness.WantVerdict(t, a.MustRun(t, harness.Sh("exit 0")), api.OK)
		})
	}
}

// CMP-18, CMP-19: a compile stage that forks without end reaches its limit; one that needs a
// network does not wait for it.
func TestHostileCompileWidthAndWaiting(t *testing.T) {
	a := harness.StartCompiler(t, "--slots", "1")
	forks := harness.CompiledRun(harness.Uncached(t, "i=0; while [ $i -lt 400 ]; do sleep 100 & i=$((i+1)); done; exit 0"))
	forks.CompileLimits = api.Limits{Pids: 30, Wall: harness.Seconds(10)}
	res := a.MustRun(t, forks)
	harness.WantVerdict(t, res, api.CompileError)
	if n := res.Usage.ForksRefused.Value; n == nil || *n == 0 {
		t.Errorf("no fork was refused: %+v", res.Usage.ForksRefused)
	}

	wait := harness.CompiledRun(harness.Uncached(t, "wget -T 60 -O main http://10.1.2.3/package; wget -T 60 -O main "+
		"http://registry.example/package; exit 1"))
	res = a.MustRun(t, wait)
	harness.WantVerdict(t, res, api.CompileError)
	if took := time.Duration(res.Timing.Wall); took > harness.Slow(20*time.Second) {
		t.Errorf("a package manager without a network waits for %s", took)
	}
}

// CMP-11: in no language does an option reach a compiler that is not offered by name.
func TestHostileCompilerOptions(t *testing.T) {
	hostile := []string{"-fplugin=/box/p.so", "-wrapper", "-specs=/box/s", "-B/box", "-Wl,-rpath,/box", "-Wl,-T,x", "@rsp", "@/etc/passwd",
		"-o", "-o/box/x", "-I/", "-include", "-imacros",
		"-x", "-Xlinker", "-save-temps", "-J-javaagent:x", "-processorpath", "-processor", "-toolexec", "-ldflags=-extld=x", "-C",
		"linker=/box/l", "-Clinker=/box/l", "-Clink-arg=x", "-Zunstable",
		"--sysroot=/", "-O2 -fplugin=x", " -O2", "-O2\n", "-", "--", "",
		// Close to what the patterns allow.
		"-Wl,-T,x", "-Wa,-a=/box/x", "-Wp,-MD,/box/x", "-W", "-W-", "-Wall,", "-Wno-error=x,y", "-D", "-D=1", "-D1=2", "-DX=\n-fplugin=x",
		"-DX=\x00", "-DX\n", "-DX=ü",
		"-DX=" + strings.Repeat("x", 300), "-D X", "-U", "-UX=1", "-std=c++17 -o x", "-std=/x", "-std=gnu++17\n", "-Ofast,x", "-O/x",
		"-march=native", "-mtune=native", "-march=x86-64-v3 -B/box",
		"-fopenmp=/x", "-fno-plugin", "-fplugin-arg-x-y=z", "-fprofile-use=/x", "-fdump-tree-all", "-fmax-errors=/x", "-fuse-ld=gold",
		"-ffile-prefix-map=a=b", "-l:/etc/passwd", "-lx", "-lm.so",
		"-I", "-I..", "-I/", "-I./x", "-I.x", "-ggdb9", "-gsplit-dwarf", "-x c", "-xc", "-static-pie", "-shared", "-r", "-E", "-S", "-c", "-M",
		"-MF/box/x", "-nostdlib", "-s/x",
		"-Copt-level=3 -Clinker=x", "-Clinker-flavor=ld", "-Cllvm-args=x", "-Ctarget-cpu=native", "-Ctarget-cpu=x86-64/x", "-Cpanic=/x",
		"--cfg=a=b", "--cfg", "--cfg=a;b", "--extern=x=/y", "-L/", "-Dx/y",
		"-d:A -r:/x", "-d:A;", "-d:;A", "-define:A;-r:x", "-resource:/etc/passwd", "-r:/x", "-lib:/", "-out:x", "-keyfile:/x", "-nowarn:1 -r:x",
		"-langversion:9/x", "-debug:/x",
		"-tags=a,", "-tags=a b", "-tags=a -toolexec=x", "-tags", "-ldflags=-X=a", "-overlay=/x", "-modfile=/x", "-gcflags=-x", "--outDir=/",
		"--project", "--transpile-only=x", "-Xlint:x", "-ea:x", "-J-ea"}

	offered := 0
	for _, l := range harness.BuiltinLanguages(t) {
		for _, f := range hostile {
			if _, err := l.ChooseFlags([]string{f}); err == nil {
				t.Errorf("%s offers %q", l.Name, f)
			}
		}

		for _, f := range l.Flags {
			offered++
			path := slices.ContainsFunc([]string{"-B", "-I", "-L", "-J", "-o", "-l"},
				func(p string) bool { return f == p || strings.HasPrefix(f, p+"=") })
			for _, bad := range []string{"plugin", "wrapper", "specs", "-Wl", "-Xlinker", "@", "link", "rpath", "processor",
				"exec", "include", "/"} {
				if path || strings.Contains(f, bad) {
					t.Errorf("%s offers %q", l.Name, f)
				}
			}
		}
	}

	if offered < 3 {
		t.Errorf("%d flags are offered: nothing was looked at", offered)
	}

	a := harness.StartCompiler(t, "--slots", "1")
	for _, f := range hostile {
		r := harness.CompiledRun(harness.Uncached(t, harness.CompilerScript))
		r.Flags = []string{"-a", f}
		a.Refused(t, r, api.CodeBadRequest)
	}

	for _, name := range []string{"-fplugin=x.made", "@rsp.made", "-o.made"} { // file names are no options either
		r := harness.CompiledRun(harness.Uncached(t, harness.CompilerScript))
		r.Files = []api.File{{Name: name}}
		res := a.MustRun(t, r)
		harness.WantVerdict(t, res, api.OK)
		if !bytes.Contains(res.Stdout, []byte(" ./"+name+"\n")) {
			t.Errorf("the compiler gets %q", res.Stdout)
		}
	}
}

// CMP-16: no run decides what another run executes: a run cannot reach the cache, its changes to
// its copy stay in the run, and an entry that differs from what was stored, or was stored under
// another key, is not used.
func TestHostileCompileCache(t *testing.T) {
	a := harness.StartCompiler(t, "--slots", "1")
	source := func(name string) api.Run {
		return harness.CompiledRun(harness.Uncached(t, "mkdir lib; echo "+name+" >lib/part\n"+`cat >main <<'END'
#!/bin/sh
cat lib/part; ls -d "$1" "$1"/* 2>&1 | grep -v "No such"; echo evil >lib/part; echo 'echo evil' >main; rm -rf lib; ls -A
END
chmod +x main`))
	}

	cache := filepath.Join(a.Data, "artifacts")
	one, two := source("one"), source("two")
	one.Argv, two.Argv = []string{cache}, []string{cache}
	entry := func(r api.Run, name string, cached bool) string {
		t.Helper()
		res := a.MustRun(t, r)
		harness.WantVerdict(t, res, api.OK)
		if string(res.Stdout) != name+"\nmain\n" || res.Compile.Cached != cached {
			t.Errorf("%s: %q, cached %v; want its own, cached %v, and nothing of the cache", name, res.Stdout, res.Compile.Cached, cached)
		}
		return filepath.Join(cache, res.Compile.Key)
	}

	first, second := entry(one, "one", false), entry(two, "two", false)
	entry(one, "one", true) // unchanged, although the run has changed its copy
	for _, path := range []string{cache, first} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s: %v, %v; want it to be root's alone", path, info.Mode(), err)
		}
	}

	good, err := os.ReadFile(first)
	if err != nil {
		t.Fatal(err)
	}

	other, err := os.ReadFile(second)
	if err != nil {
		t.Fatal(err)
	}

	flipped := bytes.Clone(good)
	flipped[len(flipped)-3] ^= 1
	for name, damaged := range map[string][]byte{"a bit": flipped, "its end": good[:len(good)-5], "all of it": nil,
		"its head": append([]byte("x"), good[1:]...), "another's": other} {
		if err := os.WriteFile(first, damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		res := a.MustRun(t, one)
		if res.Verdict != api.OK || res.Compile == nil || res.Compile.Cached || string(res.Stdout) != "one\nmain\n" {
			t.Errorf("with %s of an entry damaged: %s, %q, %+v; want it compiled again", name, res.Verdict, res.Stdout, res.Compile)
		}
		entry(one, "one", true)
	}
}
