package api_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/api/decode"
)

var update = flag.Bool("update", false, "write the golden files")

// result has the fields that the examples share.
func result(change func(r *api.Result)) api.Result {
	r := api.Result{
		Run: "0d3c1f6a5b2e4c77", Verdict: api.OK, Stage: api.StageRun, LimitsHit: []string{},
		Usage: api.Usage{
			CPU: api.Known(18_210_344, "cpuacct.usage"), User: api.Known(14_000_000, "wait4"), System: api.Known(4_210_000, "wait4"),
			Memory: api.Known(7_340_032, "memory.max_usage_in_bytes"), MaxRSS: api.Known(9_437_184, "wait4"),
			Pids: api.Unknown("pids.peak is not kept by this kernel"), OOMKills: api.Known(0, "memory.oom_control"),
			ForksRefused: api.Known(0, "pids.events"),
			StdoutBytes:  2,
		},
		Timing: api.Timing{SetUp: 310_000, Wall: 21_400_000, Finish: 190_000, Started: "2026-01-02T03:04:05.000000006Z"},
		Stdout: []byte("4\n"), Stderr: []byte{},
		Limits: api.Defaults().Resolve(),
		Host: api.Host{
			Kernel: "6.12.41", CgroupMode: "hybrid", Mode: api.Strict,
			Image:   "sha256:5f70bf18a086007016e948b04aed3b82103a36bea41755b6cddfaf10ace3c6ef",
			Profile: "default", PolicyHash: "9f86d081884c7d65", Brig: "0.1.0",
		},
		Labels: api.Labels{Project: "course", Task: "sum"},
	}

	change(&r)
	return r
}

// TestGolden checks one JSON example of every message of the protocol. A change of these files is
// a change of the protocol.
func TestGolden(t *testing.T) {
	const blob = "5f70bf18a086007016e948b04aed3b82103a36bea41755b6cddfaf10ace3c6ef"
	expected := api.Bytes("7\n")
	for name, v := range map[string]any{
		"run": api.Run{
			Language: "python", Source: []byte("print(2+2)\n"), SourceName: "add.py", Argv: []string{"--fast", "3"},
			Stdin: []byte("3 4\n"), Files: []api.File{{Name: "data/in.bin", Content: []byte{0, 0xff}, Executable: true}},
			Env: map[string]string{"SEED": "7"}, Preset: "hardened",
			Limits:  api.Limits{Wall: api.Duration(1500 * time.Millisecond), Memory: 64 * api.MiB, CPUs: 0.5, Cpuset: "0-1"},
			Network: "none", WritableRoot: true, Collect: api.Collect{Globs: []string{"*.csv"}, Files: 3, Bytes: api.MiB},
			Labels: api.Labels{Project: "course", Task: "sum"}, Profile: "strict", ProfileMode: api.Enforce, Mode: api.Fresh, Interactive: true,
			Timeline: &api.TimelineRequest{Every: api.Duration(50 * time.Millisecond)},
		},
		"run-least": api.Run{Image: "tiny", Argv: []string{"true"}},
		"run-tests": api.Run{
			Language: "cpp", Source: []byte("int main() {}\n"), Flags: []string{"-O3"}, CompileLimits: api.Limits{Memory: api.GiB},
			Files: []api.File{{Name: "data.bin", Blob: blob}},
			Tests: []api.Test{
				{ID: "1", Stdin: []byte("3 4\n"), Expected: &expected, Args: []string{"-v"}, Limits: api.Limits{CPU: api.Duration(time.Second)}},
				{ID: "2", StdinBlob: blob, ExpectedBlob: blob,
					Files: []api.File{{Name: "words", Content: []byte("a\n")}, {Name: "d/long", Blob: blob}}},
			},
			InputFile: "input.txt", OutputFile: "output.txt",
			Compare: api.Compare{How: "float", Tolerance: 1e-6}, StopAtFailure: true, KeepOutput: api.KiB,
		},
		"result-tests": result(func(r *api.Result) {
			one := result(func(r *api.Result) { r.Host, r.Labels = api.Host{}, api.Labels{} })
			other := one
			other.Verdict, other.ExitCode = api.Nonzero, 3
			r.Compile = &api.Compilation{Key: blob, Cached: true, Stderr: []byte("warning\n"), Usage: one.Usage, Timing: one.Timing,
				Limits: one.Limits, Size: 16 << 10}
			r.Tests = []api.TestResult{{ID: "1", Answer: api.WrongAnswer, Difference: "line 1: expected 7, came 4", Output: []byte("4\n"), Cut: true,
				Result: one}, {ID: "2", Result: other}}
			s := api.Summarize(3, r.Tests)
			r.Summary, r.Verdict, r.Stdout = &s, s.Verdict, nil
		}),
		"result-ok": result(func(r *api.Result) {
			r.Files = []api.File{{Name: "out.csv", Content: []byte("a,b\n")}}
			r.Skipped = []api.Skipped{{Name: "link", Reason: "is a symbolic link"}}
		}),
		"result-nonzero": result(func(r *api.Result) { r.Verdict, r.ExitCode, r.Stdout, r.Stderr = api.Nonzero, 3, nil, []byte("no\n") }),
		"result-signaled": result(func(r *api.Result) {
			r.Verdict, r.ExitCode, r.Signal, r.SignalName = api.Signaled, -1, 11, "SIGSEGV"
			r.Stdout = []byte{0xff, 0xfe}
		}),
		"result-cpu-limit": result(func(r *api.Result) {
			r.Verdict, r.ExitCode, r.Signal, r.SignalName, r.LimitsHit = api.CPULimit, -1, 9, "SIGKILL", []string{"cpu"}
		}),
		"result-wall-limit": result(func(r *api.Result) {
			r.Verdict, r.ExitCode, r.Signal, r.SignalName, r.LimitsHit = api.WallLimit, -1, 9, "SIGKILL", []string{"wall", "pids"}
			r.Timing.Killed = 21_000_000
		}),
		"result-memory-limit": result(func(r *api.Result) {
			r.Verdict, r.ExitCode, r.Signal, r.SignalName, r.LimitsHit = api.MemoryLimit, -1, 9, "SIGKILL", []string{"memory"}
			r.Usage.OOMKills = api.Known(1, "memory.oom_control")
		}),
		"result-output-limit": result(func(r *api.Result) {
			r.Verdict, r.ExitCode, r.Signal, r.SignalName, r.LimitsHit = api.OutputLimit, -1, 9, "SIGKILL", []string{"output"}
			r.StdoutTruncated, r.Limits.Output = true, 2
		}),
		"result-denied": result(func(r *api.Result) {
			r.Verdict, r.ExitCode, r.Signal, r.SignalName = api.Denied, -1, 9, "SIGKILL"
			r.Denial = &api.Denial{Syscall: "ptrace", Number: 101, Arch: "x86_64", Rule: "default: kill", Why: "reads or changes another process"}
		}),
		"result-timeline": result(func(r *api.Result) {
			r.Timeline = &api.Timeline{Every: 20_000_000, Memory: []int64{4 << 20, 6 << 20},
				CPU: []int64{9_000_000, 18_000_000}, Pids: []int64{1, 2}}
		}),
		"result-logged": result(func(r *api.Result) {
			r.Logged = []api.Denial{{Syscall: "ptrace", Number: 101, Arch: "x86_64", Rule: "default: kill", Why: "reads or changes another process",
				Allowed: true, Count: 2}}
		}),
		"result-refused": result(func(r *api.Result) {
			r.Verdict, r.ExitCode = api.Nonzero, 1
			r.Refused = []api.Refusal{{Syscall: "alarm", Profile: "strict", Errno: "EPERM", Count: 3}}
		}),
		"result-diagnosed": result(func(r *api.Result) {
			r.Verdict, r.ExitCode, r.Stdout = api.Nonzero, 1, nil
			r.Diagnosis = &api.Diagnosis{
				Category: api.CategoryValue, Type: "ZeroDivisionError", Message: "division by zero", File: "lib/mean.py", Line: 2, Column: 12,
				Hint: "look for a division whose divisor can be 0",
			}
		}),
		"result-canceled":      result(func(r *api.Result) { r.Verdict, r.ExitCode, r.Signal, r.SignalName = api.Canceled, -1, 9, "SIGKILL" }),
		"result-compile-error": result(func(r *api.Result) { r.Verdict, r.Stage, r.ExitCode = api.CompileError, api.StageCompile, 1 }),
		"error":                api.Fail(api.CodeBusy, "every slot is leased: try again"),
		"error-run": &api.Error{Code: api.CodeInternal, Message: "the agent could not carry out the request", RetrySafe: true,
			Run: "0d3c1f6a5b2e4c77"},
		"health": api.Health{Status: "ok", Version: "0.1.0", Slots: 2, ImageRoom: new(int64(5 << 30)), Leased: 1, Cells: 2,
			Sessions: 1, SessionsMax: 16, ResidentsMax: 256, Memory: 512 << 20,
			MemoryMax: 3 << 30, Ceiling: api.Limits{CPU: 30e9, Memory: 4 << 30}, UptimeNS: 5e9,
			Kernel: "6.12.41", CgroupMode: "hybrid"},
		"language": api.Language{Name: "python", Extensions: []string{"py"}, Image: "python", Stored: true,
			Tier: "default", Version: "3.13"},
		"language-compiled": api.Language{
			Name: "cpp", Aliases: []string{"c++"}, Extensions: []string{"cpp", "cc"}, Image: "cpp", Tier: "strict", CompileTier: "compile",
			Flags: []string{"-O2", "-O3"}, DefaultFlags: []string{"-O2"}, TimeFactor: 1, MemoryFactor: 1, Version: "14.2",
		},
		"session-request": api.SessionRequest{
			Language: "python", Labels: api.Labels{Project: "course", Task: "sum"}, Env: map[string]string{"SEED": "7"}, Preset: "light",
			Limits:     api.Limits{Memory: 256 * api.MiB, CPUs: 2, Pids: 50, Scratch: 32 * api.MiB},
			ExecLimits: api.Limits{Wall: api.Duration(10 * time.Second), Memory: 64 * api.MiB},
			Idle:       api.Duration(time.Minute), Life: api.Duration(time.Hour), Network: "none", WritableRoot: true, Profile: "default",
			ProfileMode: api.Enforce,
			Volume:      &api.VolumeRequest{Name: "data", Size: 512 * api.MiB, Shared: true},
		},
		"session-request-least": api.SessionRequest{Image: "tiny"},
		"session": api.Session{
			ID: "0d3c1f6a5b2e4c77", State: api.SessionQuiet, Language: "python", Image: "sha256:5f70bf18", Profile: "default", Network: "none",
			Labels:     api.Labels{Project: "course", Task: "sum"},
			Limits:     api.Limits{Memory: 256 * api.MiB, CPUs: 1, Weight: 1024, Pids: 50, Scratch: 64 * api.MiB, Inodes: 10_000},
			ExecLimits: api.Defaults().Resolve(), Idle: api.SessionIdle, Life: api.SessionLife,
			Created: "2026-01-02T03:04:05.000000006Z", IdleEnds: "2026-01-02T03:09:05.000000006Z", Ends: "2026-01-02T04:04:05.000000006Z", Execs: 3,
			Volume: &api.MountedVolume{Name: "data", Size: 512 * api.MiB, Used: 4096, Free: 500 << 20, Inodes: 65_000, Shared: true},
			Usage: api.SessionUsage{
				Memory: api.Known(7_340_032, "memory.current"), MemoryPeak: api.Known(9_437_184, "memory.peak"), CPU: api.Known(18_210_344, "cpu.stat"),
				Processes: api.Known(1, "pids.current"), Scratch: 4096, Inodes: 2,
			},
		},
		"volume": api.Volume{Name: "data", Size: 512 * api.MiB, Modified: "2026-01-02T03:04:05Z", Sessions: []string{"0d3c1f6a5b2e4c77"}},
		"exec": api.Exec{
			Source: []byte("print(2+2)\n"), SourceName: "add.py", Argv: []string{"--fast"}, Stdin: []byte("3 4\n"),
			Env:    map[string]string{"SEED": "8"},
			Limits: api.Limits{Wall: api.Duration(time.Second)}, Collect: api.Collect{Globs: []string{"*.csv"}}, Interactive: true,
		},
		"exec-least": api.Exec{Argv: []string{"true"}},
		"files": api.FileList{
			Files: []api.FileInfo{{Name: "data/in.csv", Kind: api.RegularFile, Size: 12},
				{Name: "run", Kind: api.RegularFile, Size: 9, Executable: true}, {Name: "way", Kind: api.Symlink}},
			Skipped: []api.Skipped{{Name: `"\\xff"`, Reason: "the name is not UTF-8, or too long"}}, More: true,
		},
		"session-ended": api.Refuse(api.CodeSessionEnded, "session 0d3c1f6a5b2e4c77 has ended: it was deleted: make another"),
		"finding": api.Finding{Severity: api.SeverityError, Rule: "python-eval", Message: "eval carries out any text as a program",
			File: "main.py", Line: 3, Column: 5, Snippet: "x = eval(input())"},
		"image": api.Image{Digest: "sha256:5f70bf18", Names: []string{"python"}, Size: 100 << 20, Created: "2026-01-02T03:04:05Z"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := json.MarshalIndent(v, "", "  ")
			if err != nil {
				t.Fatal(err)
			}

			got = append(got, '\n')
			file := filepath.Join("testdata", "golden", name+".json")
			if *update {
				if err := os.WriteFile(file, got, 0o644); err != nil {
					t.Fatal(err)
				}
			}

			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got, want) {
				t.Errorf("%s differs; -update writes it:\n%s", file, got)
			}

			back := reflect.New(reflect.TypeOf(v))
			d := json.NewDecoder(bytes.NewReader(want))
			d.DisallowUnknownFields()
			if err := d.Decode(back.Interface()); err != nil {
				t.Fatalf("read back: %v", err)
			}

			again, err := json.MarshalIndent(back.Interface(), "", "  ")
			if err != nil || !bytes.Equal(append(again, '\n'), want) {
				t.Errorf("read back and written again it is %s, %v", again, err)
			}
		})
	}
}

func TestGoldenRunsAreAccepted(t *testing.T) {
	for _, name := range []string{"run", "run-least", "run-tests"} {
		raw, err := os.ReadFile(filepath.Join("testdata", "golden", name+".json"))
		if err != nil {
			t.Fatal(err)
		}
		run, err := decode.Run(raw)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if err := run.Validate(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
