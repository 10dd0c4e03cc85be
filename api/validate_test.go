package api_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/api"
)

func TestValidate(t *testing.T) {
	ok := func(change func(r *api.Run)) api.Run {
		r := api.Run{Image: "tiny", Argv: []string{"true"}}
		change(&r)
		return r
	}

	source := func(change func(r *api.Run)) api.Run {
		r := api.Run{Language: "python", Source: []byte("1")}
		change(&r)
		return r
	}

	digest := strings.Repeat("0a", 32)
	tests := func(n int) (all []api.Test) {
		for i := range n {
			all = append(all, api.Test{ID: fmt.Sprint(i)})
		}
		return all
	}

	many := func(n int) (files []api.File) {
		for i := range n {
			files = append(files, api.File{Name: fmt.Sprint(i)})
		}
		return files
	}

	for _, tt := range []struct {
		name string
		run  api.Run
		want api.Code // "": accepted
	}{
		{"a command in an image", ok(func(r *api.Run) {}), ""},
		{"source in a language", source(func(r *api.Run) {}), ""},
		{"a command in a language's image", api.Run{Language: "python", Argv: []string{"python3", "-V"}}, ""},
		{"source with arguments that look like flags (API-07)", source(func(r *api.Run) { r.Argv = []string{"-fplugin=x", "@file", ""} }), ""},
		{"neither language nor image", api.Run{Argv: []string{"true"}}, api.CodeBadRequest},
		{"a language in another image", ok(func(r *api.Run) { r.Language = "python" }), ""},
		{"source without a language", api.Run{Image: "tiny", Source: []byte("1")}, api.CodeBadRequest},
		{"the image's own command", api.Run{Image: "tiny"}, ""},
		{"a language in another image, and nothing to run", api.Run{Language: "python", Image: "tiny"}, api.CodeBadRequest},
		{"an empty source", api.Run{Language: "python", Source: api.Bytes{}}, ""},
		{"an empty source with a name, tests, arguments and flags",
			api.Run{Language: "c", Source: api.Bytes{}, SourceName: "a.c", Argv: []string{""}, Flags: []string{"-O3"}, Tests: tests(1)}, ""},
		{"an empty source without a language", api.Run{Image: "tiny", Source: api.Bytes{}, Argv: []string{"true"}}, api.CodeBadRequest},
		{"a language alone", api.Run{Language: "python"}, api.CodeBadRequest},
		{"an empty program name", api.Run{Image: "tiny", Argv: []string{""}}, api.CodeBadRequest},
		{"a source name without source", ok(func(r *api.Run) { r.SourceName = "a.py" }), api.CodeBadRequest},

		{"flags for a compiler", source(func(r *api.Run) { r.Flags = []string{"-O3"} }), ""},
		{"flags and nothing to compile", ok(func(r *api.Run) { r.Flags = []string{"-O3"} }), api.CodeBadRequest},
		{"compile limits and nothing to compile", ok(func(r *api.Run) { r.CompileLimits.Pids = 9 }), api.CodeBadRequest},
		{"compile limits that make no sense", source(func(r *api.Run) { r.CompileLimits.Pids = -1 }), api.CodeBadLimits},
		{"a file by blob", ok(func(r *api.Run) { r.Files = []api.File{{Name: "a", Blob: digest}} }), ""},
		{"a file by blob and content",
			ok(func(r *api.Run) { r.Files = []api.File{{Name: "a", Blob: digest, Content: []byte("x")}} }), api.CodeBadRequest},
		{"a link, and files in /tmp", ok(func(r *api.Run) {
			r.Files = []api.File{{Name: "a", Link: "/dev/stdin"}, {Name: "/tmp/b", Content: []byte("x")}, {Name: "/tmp/c/d", Link: "../b"},
				{Name: "tmp/b", Blob: digest}}
		}), ""},
		{"a link and content", ok(func(r *api.Run) { r.Files = []api.File{{Name: "a", Link: "b", Content: []byte("x")}} }), api.CodeBadFile},
		{"a link and a blob", ok(func(r *api.Run) { r.Files = []api.File{{Name: "a", Link: "b", Blob: digest}} }), api.CodeBadFile},
		{"a link with x bits", ok(func(r *api.Run) { r.Files = []api.File{{Name: "a", Link: "b", Executable: true}} }), api.CodeBadFile},
		{"a link with NUL", ok(func(r *api.Run) { r.Files = []api.File{{Name: "a", Link: "b\x00"}} }), api.CodeBadFile},
		{"a link to a long path", ok(func(r *api.Run) { r.Files = []api.File{{Name: "a", Link: strings.Repeat("b", 1025)}} }), api.CodeBadFile},
		{"a file below a link", ok(func(r *api.Run) { r.Files = []api.File{{Name: "a", Link: "b"}, {Name: "a/c"}} }), api.CodeBadFile},
		{"a file below a link in /tmp",
			ok(func(r *api.Run) { r.Files = []api.File{{Name: "/tmp/a", Link: "b"}, {Name: "/tmp/a/c"}} }), api.CodeBadFile},
		{"a link of a language", source(func(r *api.Run) { r.Files = []api.File{{Name: "a", Link: "b"}} }), api.CodeBadFile},
		{"a file in /tmp of a language", source(func(r *api.Run) { r.Files = []api.File{{Name: "/tmp/a"}} }), api.CodeBadFile},
		{"a link of a test",
			ok(func(r *api.Run) { r.Tests = []api.Test{{ID: "1", Files: []api.File{{Name: "a", Link: "b"}}}} }), api.CodeBadFile},
		{"a file in /tmp of a test",
			ok(func(r *api.Run) { r.Tests = []api.Test{{ID: "1", Files: []api.File{{Name: "/tmp/a"}}}} }), api.CodeBadFile},
		{"a file out of /tmp", ok(func(r *api.Run) { r.Files = []api.File{{Name: "/tmp/../etc/passwd"}} }), api.CodeBadFile},
		{"/tmp itself", ok(func(r *api.Run) { r.Files = []api.File{{Name: "/tmp/", Link: "/etc"}} }), api.CodeBadFile},
		{"/tmp without a slash", ok(func(r *api.Run) { r.Files = []api.File{{Name: "/tmp", Link: "/etc"}} }), api.CodeBadFile},
		{"a blob by path", ok(func(r *api.Run) { r.StdinBlob = "../../etc/passwd" }), api.CodeBadRequest},
		{"a blob in capitals", ok(func(r *api.Run) { r.StdinBlob = strings.ToUpper(digest) }), api.CodeBadRequest},

		{"tests", ok(func(r *api.Run) { r.Tests, r.StopAtFailure = []api.Test{{ID: "1"}, {ID: "2"}}, true }), ""},
		{"as many tests as there may be", ok(func(r *api.Run) { r.Tests = tests(api.MaxTests) }), ""},
		{"one more test", ok(func(r *api.Run) { r.Tests = tests(api.MaxTests + 1) }), api.CodeBadRequest},
		{"a test without an id", ok(func(r *api.Run) { r.Tests = []api.Test{{}} }), api.CodeBadRequest},
		{"two tests with one id", ok(func(r *api.Run) { r.Tests = []api.Test{{ID: "1"}, {ID: "1"}} }), api.CodeBadRequest},
		{"tests, and stdin for all", ok(func(r *api.Run) { r.Tests, r.Stdin = tests(1), []byte("x") }), api.CodeBadRequest},
		{"what is about tests, without any", ok(func(r *api.Run) { r.StopAtFailure = true }), api.CodeBadRequest},
		{"a test with NUL in an argument", ok(func(r *api.Run) { r.Tests = []api.Test{{ID: "1", Args: []string{"\x00"}}} }), api.CodeBadRequest},
		{"a test's arguments come after the run's", ok(func(r *api.Run) {
			r.Argv = []string{strings.Repeat("a", api.MaxArgBytes-1)}
			r.Tests = []api.Test{{ID: "1", Args: []string{"b"}}}
		}), api.CodeTooLarge},
		{"a test with limits that make no sense",
			ok(func(r *api.Run) { r.Tests = []api.Test{{ID: "1", Limits: api.Limits{Pids: -1}}} }), api.CodeBadLimits},
		{"a test with two answers", ok(func(r *api.Run) {
			r.Tests = []api.Test{{ID: "1", Expected: new(api.Bytes), ExpectedBlob: digest}}
		}), api.CodeBadRequest},
		{"more output than may be kept", ok(func(r *api.Run) { r.Tests, r.KeepOutput = tests(1), api.GiB }), api.CodeBadRequest},

		{"NUL in an argument (API-08)", ok(func(r *api.Run) { r.Argv = append(r.Argv, "a\x00b") }), api.CodeBadRequest},
		{"NUL in the program's name", ok(func(r *api.Run) { r.Argv[0] = "true\x00" }), api.CodeBadRequest},
		{"NUL in an environment value (API-08)",
			ok(func(r *api.Run) { r.Env = map[string]string{"A": "b\x00LD_PRELOAD=x"} }), api.CodeBadRequest},
		{"NUL in an environment name (API-08)", ok(func(r *api.Run) { r.Env = map[string]string{"A\x00": "b"} }), api.CodeBadRequest},
		{"= in an environment name (API-08)", ok(func(r *api.Run) { r.Env = map[string]string{"A=B": "c"} }), api.CodeBadRequest},
		{"an environment variable without a name", ok(func(r *api.Run) { r.Env = map[string]string{"": "c"} }), api.CodeBadRequest},
		{"as many arguments as there may be", ok(func(r *api.Run) { r.Argv = make([]string, api.MaxArgv); r.Argv[0] = "x" }), ""},
		{"one more", ok(func(r *api.Run) { r.Argv = make([]string, api.MaxArgv+1); r.Argv[0] = "x" }), api.CodeBadRequest},
		{"arguments as long as they may be", ok(func(r *api.Run) { r.Argv = []string{strings.Repeat("a", api.MaxArgBytes-1)} }), ""},
		{"one byte more", ok(func(r *api.Run) { r.Argv = []string{strings.Repeat("a", api.MaxArgBytes)} }), api.CodeTooLarge},
		{"arguments and environment share the room", ok(func(r *api.Run) {
			r.Argv = []string{strings.Repeat("a", api.MaxArgBytes/2)}
			r.Env = map[string]string{"A": strings.Repeat("a", api.MaxArgBytes/2)}
		}), api.CodeTooLarge},

		{"files below directories", ok(func(r *api.Run) { r.Files = []api.File{{Name: "a/b"}, {Name: "a/c"}, {Name: "a.b"}} }), ""},
		{"the same file twice (FIO-12)", ok(func(r *api.Run) { r.Files = []api.File{{Name: "a"}, {Name: "b"}, {Name: "a"}} }), api.CodeBadFile},
		{"a file that is another's directory (FIO-12)",
			ok(func(r *api.Run) { r.Files = []api.File{{Name: "a/b/c"}, {Name: "a"}} }), api.CodeBadFile},
		{"the same with a name sorted between (FIO-12)",
			ok(func(r *api.Run) { r.Files = []api.File{{Name: "a/b"}, {Name: "a-"}, {Name: "a"}} }), api.CodeBadFile},
		{"a file named as the source (FIO-12)",
			source(func(r *api.Run) { r.SourceName = "m.py"; r.Files = []api.File{{Name: "m.py"}} }), api.CodeBadFile},
		{"a source name that climbs", source(func(r *api.Run) { r.SourceName = "../m.py" }), api.CodeBadFile},
		{"names a shell would trip over are only names (FIO-12)", ok(func(r *api.Run) {
			r.Files = []api.File{{Name: "-rf"}, {Name: "compile.sh"}, {Name: "$(id)"}, {Name: "a b\n"}}
		}), ""},
		{"as many files as there may be", ok(func(r *api.Run) { r.Files = many(api.MaxFiles) }), ""},
		{"one more file", ok(func(r *api.Run) { r.Files = many(api.MaxFiles + 1) }), api.CodeBadFile},

		{"globs", ok(func(r *api.Run) { r.Collect.Globs = []string{"*.csv", "out/[a-z]?"} }), ""},
		{"globs of 4096 bytes", ok(func(r *api.Run) {
			r.Collect.Globs = append(slices.Repeat([]string{strings.Repeat("a", 62) + "/*"}, 63), strings.Repeat("a", 63)+"?")
		}), ""},
		{"globs of 4097 bytes", ok(func(r *api.Run) {
			r.Collect.Globs = append(slices.Repeat([]string{strings.Repeat("a", 62) + "/*"}, 63), strings.Repeat("a", 64)+"?")
		}), api.CodeBadFile},
		{"64 long names to collect", ok(func(r *api.Run) { r.Collect.Globs = slices.Repeat([]string{strings.Repeat("a", 250)}, 64) }), ""},
		{"a glob that is none", ok(func(r *api.Run) { r.Collect.Globs = []string{"[a"} }), api.CodeBadFile},
		{"a broken glob behind a matching part", ok(func(r *api.Run) { r.Collect.Globs = []string{"x[a"} }), api.CodeBadFile},
		{"a broken glob behind a part that does not match", ok(func(r *api.Run) { r.Collect.Globs = []string{"data/[a"} }), api.CodeBadFile},
		{"a glob that climbs", ok(func(r *api.Run) { r.Collect.Globs = []string{"../*"} }), api.CodeBadFile},
		{"an absolute glob", ok(func(r *api.Run) { r.Collect.Globs = []string{"/etc/*"} }), api.CodeBadFile},
		{"collect nothing, and globs", ok(func(r *api.Run) { r.Collect = api.Collect{None: true, Globs: []string{"a"}} }), api.CodeBadFile},
		{"a negative number of files", ok(func(r *api.Run) { r.Collect.Files = -1 }), api.CodeBadFile},
		{"too many files to collect", ok(func(r *api.Run) { r.Collect.Files = api.CollectFilesMax + 1 }), api.CodeBadFile},
		{"negative bytes to collect", ok(func(r *api.Run) { r.Collect.Bytes = -1 }), api.CodeBadFile},
		{"too many bytes to collect", ok(func(r *api.Run) { r.Collect.Bytes = api.CollectBytesMax + 1 }), api.CodeBadFile},

		{"no network, by name", ok(func(r *api.Run) { r.Network = "none" }), ""},
		{"a network that does not exist", ok(func(r *api.Run) { r.Network = "host" }), api.CodeBadRequest},
		{"hosts without a network", ok(func(r *api.Run) { r.Allow = []string{"a.test"} }), api.CodeBadRequest},
		{"a network without hosts", ok(func(r *api.Run) { r.Network = "allow" }), api.CodeBadRequest},
		{"hosts", ok(func(r *api.Run) {
			r.Network, r.Allow = "allow", []string{"a.test", "*.b.test:8443", "192.0.2.1", "192.0.2.0/24:1"}
		}), ""},
		{"a URL as a host", ok(func(r *api.Run) { r.Network, r.Allow = "allow", []string{"https://a.test"} }), api.CodeBadRequest},
		{"a number that is no address", ok(func(r *api.Run) { r.Network, r.Allow = "allow", []string{"0x7f000001"} }), api.CodeBadRequest},
		{"port 53", ok(func(r *api.Run) { r.Network, r.Allow = "allow", []string{"a.test:53"} }), api.CodeBadRequest},
		{"modes and presets that exist", ok(func(r *api.Run) { r.Mode, r.ProfileMode, r.Preset = api.Fresh, api.Log, "light" }), ""},
		{"another mode", ok(func(r *api.Run) { r.Mode = "loose" }), api.CodeBadRequest},
		{"another profile mode", ok(func(r *api.Run) { r.ProfileMode = "off" }), api.CodeBadRequest},
		{"another preset", ok(func(r *api.Run) { r.Preset = "heavy" }), api.CodeBadLimits},
		{"two profiles", ok(func(r *api.Run) { r.Profile, r.ProfileRules = "strict", []byte("{}") }), api.CodeBadRequest},
		{"limits that make no sense", ok(func(r *api.Run) { r.Limits.Pids = -1 }), api.CodeBadLimits},
		{"an image's name without end", ok(func(r *api.Run) { r.Image = strings.Repeat("a", 257) }), api.CodeBadRequest},
		{"a language's", source(func(r *api.Run) { r.Language = strings.Repeat("a", 257) }), api.CodeBadRequest},
		{"an image named by its digest", ok(func(r *api.Run) { r.Image = "sha256:" + strings.Repeat("a", 64) }), ""},
		{"a label without end", ok(func(r *api.Run) { r.Labels.Task = strings.Repeat("a", 257) }), api.CodeBadRequest},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if err := tt.run.Validate(); code(err) != tt.want {
				t.Errorf("%v (%s); want %q", err, code(err), tt.want)
			}
		})
	}
}

func TestFileNamesOutsideOfBoxAreRefused(t *testing.T) { // FIO-03, FIO-12
	for _, name := range []string{
		"", "/", "/etc/passwd", ".", "..", "./", "./a", "a/.", "a/..", "a/../b", "../a", "a//b", "a/", "link/", "a/..//b", "//a",
		"a\x00b", "a\xff", strings.Repeat("a", 256), "d/" + strings.Repeat("a", 256), strings.Repeat("a/", 512) + "a",
	} {
		if err := api.FileName(name); code(err) != api.CodeBadFile {
			t.Errorf("%.40q: %v; want bad-file", name, err)
		}
	}

	for _, name := range []string{"a", "...", "..a", "a..", ".hidden", "a/b/c", "-rf", "a b", "*", "世界", strings.Repeat("a", 255)} {
		if err := api.FileName(name); err != nil {
			t.Errorf("%.40q: %v; want it accepted", name, err)
		}
	}
}
