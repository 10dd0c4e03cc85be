package languages

import (
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/e2e/harness"
	"github.com/brig-sandbox/brig/rootfs/languages"
)

// Flags that users know from other judges have the same effect here.
func TestFlagsOfCompilers(t *testing.T) {
	b := harness.Bench{Agent: harness.StartAgent(t, "--slots", "2", "--max-wall", "10m", "--max-cpu", "10m"), Slots: make(chan struct{}, 2)}
	const cHello = "#include <stdio.h>\n"
	for _, tt := range []struct {
		language, source string
		flags            []string
		want             string
	}{
		{"c", cHello + "int main(void) { printf(\"%ld %d\\n\", __STDC_VERSION__, X); }",
			[]string{"-std=gnu11", "-O2", "-DX=3", "-lm", "-Wno-unused"}, "201112 3\n"},
		{"c", cHello + "int main() { printf(\"c89\\n\"); return 0; }", []string{"-std=c89", "-pedantic", "-Wall"}, "c89\n"},
		{"c", cHello + "#include <math.h>\n#include <stdlib.h>\nint main(int n, char **v) { printf(\"%.0f\\n\", sqrt(atof(\"9\"))); }",
			[]string{"-Ofast", "-lm", "-pthread"}, "3\n"},
		{"cpp", "#include <bits/stdc++.h>\nint main() { std::cout << __cplusplus << ONLINE_JUDGE << '\\n'; }",
			[]string{"-std=gnu++20", "-O2", "-DONLINE_JUDGE", "-Wno-sign-compare"}, "2020021\n"},
		{"cpp", "#include <iostream>\nint main() { std::cout << __cplusplus << '\\n'; }", []string{"-std=c++03"}, "199711\n"},
		{"cpp", "#include <bits/stdc++.h>\nint main() { long s = 0;\n#pragma omp parallel for reduction(+:s)\nfor " +
			"(int i = 1; i <= 1000; i++) s += i;\nstd::cout << s << _OPENMP / 100000 << '\\n'; }", []string{"-fopenmp", "-O3"}, "5005002\n"},
		{"cpp", "#include <iostream>\nint main() { std::cout << DIR \"\\n\"; }", []string{`-DDIR="a b"`}, "a b\n"},
		{"rust", "fn main() { let x = if cfg!(judge) { 1 } else { 2 }; println!(\"{}\", x); }",
			[]string{"--cfg=judge", "-Copt-level=3", "-Awarnings", "--edition=2021"}, "1\n"},
		{"go", "package main\nfunc main() { println(1) }", []string{"-tags=judge"}, ""},
		{"mono", "class A { static void Main() {\n#if JUDGE\nSystem.Console.WriteLine(1);\n#endif\n} }",
			[]string{"-d:JUDGE;X", "-nowarn:0168"}, "1\n"},
		{"typescript", "const x: number = 'a'; console.log(x)", []string{"--noCheck"}, "a\n"},
		{"typescript", "const x: number = 1; console.log(x)", []string{"--noImplicitAny"}, "1\n"},
	} {
		if !harness.Chosen(tt.language, harness.LanguageTests[tt.language].OnlyAll) {
			continue
		}

		l, err := languageNamed(t, tt.language)
		if err != nil {
			t.Fatal(err)
		}

		harness.Images.Load(t, b.Agent, l.Image)
		b.Test(t, tt.language+" "+tt.flags[0], func(t *testing.T) {
			res := b.MustRun(t, api.Run{
				Language: tt.language, Source: api.Bytes(tt.source), Flags: tt.flags, Collect: api.Collect{None: true},
				CompileLimits: api.Limits{Wall: harness.Slowly(60), CPU: harness.Slowly(60)},
			})
			prints(tt.want)(t, l, res)
			if res.Compile != nil && tt.flags[0] == "--noCheck" && len(res.Compile.Stdout) > 0 {
				t.Errorf("without type checks the compiler says %s", res.Compile.Stdout)
			}
			if res.Compile != nil && len(res.Compile.Stderr) > 0 {
				t.Logf("the compiler says %s", res.Compile.Stderr)
			}
		})
	}
}

// Without type checks a TypeScript program must still be syntactically valid.
func TestTypeScriptWithoutTypeCheck(t *testing.T) {
	a := harness.StartAgent(t, "--slots", "1", "--max-wall", "10m", "--max-cpu", "10m")
	if !harness.Chosen("typescript", false) {
		return
	}
	harness.Images.Load(t, a, "node")
	for source, flags := range map[string][]string{"const x: number = ;\n": {"--noCheck"}, "const x: number = 'a';\n": nil} {
		res := a.MustRun(t, api.Run{Language: "typescript", Source: api.Bytes(source), Flags: flags,
			CompileLimits: api.Limits{Wall: harness.Slowly(60), CPU: harness.Slowly(60)}})
		if harness.WantVerdict(t, res, api.CompileError); !strings.Contains(string(res.Stdout), "main.ts(1,") {
			t.Errorf("%v: %q", flags, res.Stdout)
		}
	}
}

// With Mono, Debug.Assert is checked if the program is compiled with it, and ignored otherwise.
func TestCSharpAssertions(t *testing.T) {
	a := harness.StartAgent(t, "--slots", "1", "--max-wall", "10m", "--max-cpu", "10m")
	if !harness.Chosen("mono", true) {
		return
	}

	harness.Images.Load(t, a, "mono")
	source := api.Bytes("using System.Diagnostics;\nclass A { static void Main() { try { Debug.Assert(1 == 1); " +
		"Debug.Assert(1 == 2, \"sums\"); } catch { } System.Console.WriteLine(1); } }")
	for flag, want := range map[string]api.Verdict{"-d:DEBUG": api.Nonzero, "-optimize+": api.OK} {
		res := a.MustRun(t, api.Run{Language: "mono", Source: source, Flags: []string{flag},
			CompileLimits: api.Limits{Wall: harness.Slowly(60), CPU: harness.Slowly(60)}})
		harness.WantVerdict(t, res, want)
		if want == api.Nonzero &&
			(!strings.Contains(string(res.Stderr), "Debug.Assert: sums") || !strings.Contains(string(res.Stderr), "A.Main") || len(res.Stdout) > 0) {
			t.Errorf("stdout %q, stderr %q", res.Stdout, res.Stderr)
		}
	}
}

func languageNamed(t testing.TB, name string) (languages.Manifest, error) {
	t.Helper()
	all, err := languages.Load("", nil)
	if err != nil {
		return languages.Manifest{}, err
	}
	return all.ByName(name)
}
