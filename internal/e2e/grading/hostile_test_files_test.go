package grading

import (
	"bytes"
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/e2e/harness"
)

// GRD-28: whatever a program makes of its output file, it is judged by what it wrote, and never by
// a file that it could not have written. None of these is accepted, although "secret" is expected
// and the shell can name files with it; none is an error of brig's, and none delays the agent.
func TestHostileOutputFiles(t *testing.T) {
	a := harness.StartAgent(t, "--slots", "2")
	answer := harness.NewBystander(t, harness.PublicDir(t, "brig-e2e-answer-"), "answer")
	scripts := map[string]string{
		"a link to the host's file":   "ln -s " + answer.Path + " output.txt",
		"a link out of /box":          "ln -s /box/../etc/passwd output.txt",
		"a link to a process's files": "ln -s /proc/self/fd/0 output.txt",
		"a link to the input":         "ln -s input.txt output.txt",
		"a link in a loop":            "ln -s output.txt output.txt",
		"a directory":                 "mkdir output.txt",
		"a pipe":                      "mkfifo output.txt",
		"a pipe with a writer":        "mkfifo output.txt; sh -c 'echo secret >output.txt' &",
		"1 TiB without a block":       "dd if=/dev/null of=output.txt bs=1 seek=1099511627776",
		"60 MiB without a block":      "dd if=/dev/null of=output.txt bs=1M seek=60",
		"one byte too many":           "head -c 1048577 /dev/zero >output.txt",
		"a directory on the way":      "mkdir -p output.txt/output.txt; echo secret >output.txt/output.txt/x",
		"another name":                "echo secret >Output.txt; echo secret >output.txt.; echo secret >'output.txt '",
		"swapped while it is there": "while :; do ln -sf " + answer.Path +
			" output.txt; rm -f output.txt; mkfifo output.txt; rm -f output.txt; done & sleep 0.2",
		"many others":                  "i=0; while [ $i -lt 5000 ]; do : >$i; i=$((i+1)); done",
		"removed":                      "echo secret >output.txt; rm output.txt",
		"stdout in its place":          "cat input.txt; echo secret",
		"a hard link to what is given": "ln words output.txt",
	}

	r := fileRun("")
	r.Limits = api.Limits{Output: api.MiB, Wall: 20e9}
	for name, script := range scripts {
		r.Argv[2] = script + "; exit 0"
		r.Tests = []api.Test{{ID: name, Stdin: []byte("secret"), Expected: harness.Expected("secret"),
			Files: []api.File{{Name: "words", Content: []byte("not it")}}}}
		res := a.MustRun(t, r)
		one := res.Tests[0]
		if one.Accepted() || one.Result.Verdict == api.OK && (one.Answer != api.WrongAnswer || one.Difference == "") ||
			bytes.Contains(one.Output, []byte("secret")) {
			t.Errorf("%s: verdict %s, %q, %q, output %q", name, one.Result.Verdict, one.Answer, one.Difference, one.Output)
		}
	}

	if answer.Touched(t) {
		t.Error("a program changed a file of the host")
	}

	r.Argv[2] = "rm -rf output.txt; mv input.txt output.txt" // the control: it is the program's to write
	r.Tests[0].ID = "control"
	if one := a.MustRun(t, r).Tests[0]; !one.Accepted() || string(one.Output) != "secret" {
		t.Errorf("the control: %s, %q", one.Difference, one.Output)
	}
}

// GRD-28: nothing that a program or its compile stage can see contains the expected output, or the
// files and inputs of other tests, if these are files. Their own are the control.
func TestHostileFilesOfOtherTests(t *testing.T) {
	a := harness.StartCompiler(t, "--slots", "2")
	const look = "grep -rhs MARK''ER- /box /tmp /dev/shm /run /etc /var /proc/self/environ /proc/1/environ; env | grep MARK''ER-"
	r := harness.CompiledRun(harness.Uncached(t,
		"{ "+look+"; } >&2 </dev/null\nmkdir lib; : >lib/x; cat >main <<'END'\n#!/bin/sh\n{ "+look+
			"; cat; } >/tmp/found; sort /tmp/found >output.txt\nEND\nchmod +x main"))
	r.InputFile, r.OutputFile = "input.txt", "output.txt"
	for _, id := range []string{"1", "2", "3"} {
		r.Tests = append(r.Tests,
			api.Test{ID: id, Stdin: []byte("MARKER-input-" + id), Files: []api.File{{Name: "words", Content: []byte("MARKER-words-" + id)}},
				Expected: harness.Expected("MARKER-answer-" + id)})
	}

	for round := range 2 { // the second one in cells that have served others
		res := a.MustRun(t, r)
		if res.Compile == nil || bytes.Contains(res.Compile.Stderr, []byte("MARKER")) || res.Compile.Cached != (round > 0) {
			t.Fatalf("%s, the compile stage sees %+v", res.Verdict, res.Compile)
		}

		for _, one := range res.Tests {
			if want := "MARKER-input-" + one.ID + "\nMARKER-words-" + one.ID + "\n"; string(one.Output) != want || one.Answer != api.WrongAnswer ||
				len(one.Result.Stdout) > 0 {
				t.Errorf("test %s sees %q, stdout %q; want %q", one.ID, one.Output, one.Result.Stdout, want)
			}
		}

		for i := range r.Tests { // the compile stage is the same for other tests
			r.Tests[i].Expected = harness.Expected("MARKER-other-" + r.Tests[i].ID)
		}
	}
}

// GRD-28: files of tests are reserved in the host's memory although no limit of the program counts
// them, and a program cannot use them as memory: it cannot open them for writing, and what it
// writes in their place counts.
func TestHostileFilesOfTestsAreNoMemory(t *testing.T) {
	a := harness.StartAgent(t, "--slots", "1", "--memory", "256M")
	blob, err := a.PutBlob(t.Context(), bytes.Repeat([]byte("x"), 32<<20))
	if err != nil {
		t.Fatal(err)
	}

	r := fileRun(`for f in input.txt words; do chmod 666 $f; dd if=/dev/zero of=$f bs=1 count=1 conv=notrunc; echo x >>$f; echo x >$f; done 2>/dev/null; cat input.txt words | wc -c
		rm input.txt words; for i in 1 2 3 4 5 6 7 8; do head -c 5000000 /dev/zero >$i; done; echo done >output.txt`,
		api.Test{ID: "1", StdinBlob: blob, Files: []api.File{{Name: "words", Blob: blob}}, Expected: harness.Expected("done")})
	r.Limits = api.Limits{Memory: 16 * api.MiB, Scratch: 8 * api.MiB}
	one := a.MustRun(t, r).Tests[0]
	if one.Result.Verdict != api.MemoryLimit {
		t.Errorf("%s: a program with 16M of memory keeps 40M", one.Result.Verdict)
	}
	if !strings.Contains(string(one.Result.Stdout), "67108864") {
		t.Errorf("it has changed its files: %q", one.Result.Stdout)
	}

	r.Argv[2] = "cat input.txt words | wc -c >output.txt"
	r.Tests[0].Expected = harness.Expected("67108864")
	for memory, fits := range map[api.Size]bool{190 * api.MiB: true, 200 * api.MiB: false} { // of 256, with 64 of files
		r.Limits.Memory = memory
		res, err := a.Client.Run(t.Context(), r)
		if fits && (err != nil || !res.Tests[0].Accepted()) ||
			!fits && (!api.HasCode(err, api.CodeAboveCeiling) || !strings.Contains(err.Error(), "the files of a test")) {
			t.Errorf("with %s of memory: %+v, %v; want that it runs: %v", memory, res.Summary, err, fits)
		}
	}
}
