package languages

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/e2e/harness"
	"github.com/brig-sandbox/brig/judge/check"
	"github.com/brig-sandbox/brig/rootfs/languages"
)

// A checkCase is a source and the rules that are expected to match, with their lines:
// "python-eval:1".
type checkCase struct {
	source string
	want   string // separated by spaces, in order; empty: nothing is found
}

// pythonChecks: what a syntax tree shows and grep misses, and what grep would mistake for a call.
var pythonChecks = []checkCase{
	{"eval('1')", "python-eval:1"},
	{"x = 1\nexec('x = 2')", "python-exec:2"},
	{"import os\nos.system('ls')", "python-os-system:2"},
	{"from os import system as s\ns('ls')", "python-os-system:2"},
	{"import os as o\no.system('ls')", "python-os-system:2"},
	{"import os.path\nos.popen('ls')", "python-os-system:2"},
	{"import posix\nposix.system('ls')", "python-os-system:2"},
	{"from os import *\nsystem('ls')", "python-os-system:2"},
	{"import subprocess\nsubprocess.run(['ls'])", "python-subprocess:2"},
	{"import subprocess as sp\np = sp.Popen\np(['ls'])", "python-subprocess:2 python-subprocess:3"},
	{"import pickle\npickle.loads(b'')", "python-pickle:2"},
	{"from pickle import loads as json_loads\njson_loads(b'')", "python-pickle:2"},
	{"m = __import__('math')", "python-import:1"},
	{"__import__('os').system('ls')", "python-import:1 python-os-system:1"},
	{"import importlib\nimportlib.import_module('subprocess').run(['ls'])", "python-subprocess:2"},
	{"import os\ngetattr(os, 'sys' + 'tem')('ls')", "python-os-system:2"},
	{"import os\ngetattr(os, 'metsys'[::-1])('ls')", "python-os-system:2"},
	{"import os\ngetattr(os, ''.join(['sys', 'tem']))('ls')", "python-os-system:2"},
	{"import os\nvars(os)['system']('ls')", "python-os-system:2"},
	{"import os\nos.__dict__['system']('ls')", "python-os-system:2"},
	{"import sys\nsys.modules['os'].system('ls')", "python-os-system:2"},
	{"import builtins\nbuiltins.eval('1')", "python-eval:2"},
	{"__builtins__.eval('1')", "python-eval:1"},
	{"e = eval\ne('1')", "python-eval:1 python-eval:2"},
	{"(lambda f: f('1'))(eval)", "python-eval:1"},
	{"list(map(eval, ['1']))", "python-eval:1"},
	{"if (f := eval)('1'): f('2')", "python-eval:1 python-eval:1"},
	{"def f(run=eval):\n    run('1')", "python-eval:1 python-eval:2"},
	{"for f in (print, eval):\n    f('1')", "python-eval:1 python-eval:2"},
	{"a, b = print, eval\nb('1')", "python-eval:1 python-eval:2"},
	{"def f():\n    import os\n    def g():\n        os.system('ls')\n    g()", "python-os-system:4"},
	{"@eval\ndef f(): pass", "python-eval:1"},
	{"if False:\n    eval = None\neval('1')", "python-eval:3"}, // a later assignment does not hide the call

	{"import socket\nsocket.socket()", "network:1"},
	{"import os, http.client as c", "network:1"},
	{"from urllib import request, parse", "network:1"},
	{"from requests.adapters import HTTPAdapter", "network:1"},
	{"def f():\n    import urllib.request, socket", "network:2 network:2"},
	{"from http import HTTPStatus\nfrom urllib.parse import quote\nimport html", ""},
	{"from .socket import a\nfrom . import socket\nsocket = 1", ""},

	{"print('eval(1)')", ""},
	{"# eval(1)\nx = 1", ""},
	{"'''\neval(1)\nimport os; os.system('ls')\n'''", ""},
	{"import os\nos.path.join('a', 'b')\nos.getcwd()", ""},
	{"class Model:\n    def eval(self): return 1\nModel().eval()", ""},
	{"import ast\nast.literal_eval('1')", ""},
	{"def eval(x): return x\neval('1')", ""},
	{"def f(eval): return eval('1')", ""},
	{"evaluate = 1\nexecute = 2\nsystem = 3\nprint(evaluate, execute, system)", ""},
	{"import subprocess\ntry: pass\nexcept subprocess.CalledProcessError: pass", ""},
	{"import json\njson.loads('{}')", ""},
	{"import re\nre.compile('eval')", ""},

	{"def f():\n    if True print(1)", "syntax:2"},
	{"x = (1,\ny = 2", "syntax:1"},
	{"def f():\nreturn 1", "syntax:2"},
	{"x = 'no end", "syntax:1"},
	{"\x00", "syntax:0"},
	{"password = 'hunter2'\neval('1')", "password:1 python-eval:2"},
	{"x = " + strings.Repeat("(", 5000) + strings.Repeat(")", 5000), "syntax:1"},
	{"x = " + strings.Repeat("-", 20000) + "1", "unreadable:0"},
	{"x = " + strings.Repeat("1+", 20000) + "eval('1')", "unreadable:0"},
}

var nodeChecks = []checkCase{
	{"eval('1')", "js-eval:1"},
	{"globalThis.eval('1')", "js-eval:1"},
	{"globalThis['ev' + 'al']('1')", "js-eval:1"},
	{"(0, eval)('1')", "js-eval:1"},
	{"const e = eval;\ne('1')", "js-eval:1 js-eval:2"},
	{"eval.call(null, '1')", "js-eval:1"},
	{"const { eval: e } = globalThis;\ne('1')", "js-eval:2"},
	{"setTimeout('alert(1)', 1)", "js-eval:1"},
	{"new Function('return 1')()", "js-function:1"},
	{"const F = Function;\nF('return 1')()", "js-function:1 js-function:2"},
	{"(() => {}).constructor('return 1')()", "js-function:1"},
	{"[].filter['constructor']('return 1')()", "js-function:1"},
	{"''.constructor.constructor('return 1')()", "js-function:1"},
	{"const cp = require('child_process');", "js-child-process:1"},
	{"const { exec } = require('node:child_' + 'process');", "js-child-process:1"},
	{"const r = require;\nr('child_process')", "js-child-process:2"},
	{"import('child_process').then((c) => c.exec('ls'))", "js-child-process:1"},
	{"import { exec as e } from 'node:child_process';\ne('ls')", "js-child-process:1"},
	{"process.mainModule.require('child_process')", "js-child-process:1"},
	{"require('vm').runInNewContext('1')", "js-eval:1"},
	{"const el = {};\nel.innerHTML = '<b>';", "js-inner-html:2"},
	{"const el = {};\nel['inner' + 'HTML'] += '<b>';", "js-inner-html:2"},

	{"const h = require('node:https');\nh.get('x')", "network:1"},
	{"import { connect } from 'net';", "network:1"},
	{"fetch('http://x').then(console.log)", "network:1"},
	{"new WebSocket('ws://x')", "network:1"},
	{"const net = { connect() {} };\nnet.connect();\nfunction fetch() {}\nfetch()", ""},

	{"console.log('eval(1)'); // eval(1)\n/* new Function() */", ""},
	{"console.log(`eval(${1})`, /eval\\(1\\)/)", ""},
	{"const o = { eval() { return 1; } };\no.eval()", ""},
	{"function f(eval_) { return eval_(1); }\nf((x) => x)", ""},
	{"function Function() {}\nnew Function('x')", ""},
	{"const text = 'child_process';\nconsole.log('child_process', text)", ""},
	{"setTimeout(() => {}, 1)", ""},
	{"const el = {};\nconsole.log(el.innerHTML)", ""},
	{"class A { constructor() {} }\nnew A()", ""},
	{"const fs = require('fs');\nfs.existsSync('/x')", ""},
}

var javascriptChecks = []checkCase{
	{"function f(eval) { return eval('1'); }", ""},
	{"if (true console.log(1)", "syntax:1"},
	{"let a;\nlet a;", "syntax:2"},
	{"const n: number = 1", "syntax:1"},
	{"#!/usr/bin/env node\nconsole.log(1)", ""},
	{"import fs from 'fs';\nexport default 1;\nawait 1;", ""},
	{"x = " + strings.Repeat("(", 20000), "unreadable:0"},
	{"x = " + strings.Repeat("1+", 50000) + "eval('1')", "unreadable:0"},
	{"import c from 'constructor';\nconsole.log(c.toString)", ""}, // a name that every JavaScript object inherits
	{"return 1", ""}, // Node wraps a CommonJS module in a function
}

var typescriptChecks = []checkCase{
	{"const n: number = 1;\ninterface A { eval(): void }\nlet a: A;\ntype F = Function;", ""},
	{"const n: number = ;", "syntax:1"},
	{"const e: any = eval;\n(e as any)('1')", "js-eval:1 js-eval:2"},
	{"import cp = require('child_process');\ncp.exec('ls')", "js-child-process:1"},
	{"const f = eval!;", "js-eval:1"},
}

var lineNumbers = regexp.MustCompile(`:[0-9]+`)

// TestChecks: what the languages' own parsers find in sources, each in a cell. make test has each rule once, and the first
// sources of each language.
func TestChecks(t *testing.T) {
	b := harness.Bench{Agent: harness.StartAgent(t, "--slots", "2", "--max-memory", "4G"), Slots: make(chan struct{}, 2)}
	some := harness.NewShare(9)
	for _, tt := range []struct {
		language string
		cases    []checkCase
	}{
		{"python", pythonChecks},
		{"javascript", slices.Concat(nodeChecks, javascriptChecks)},
		{"typescript", slices.Concat(typescriptChecks, nodeChecks)},
		{"javascript-full", slices.Concat(nodeChecks, javascriptChecks)}, // compiled with another compiler
	} {
		language, cases := tt.language, tt.cases
		if !harness.Chosen(language, language == "javascript-full") {
			continue
		}

		image := map[string]string{"python": "python", "javascript": "node", "typescript": "node", "javascript-full": "node-full"}[language]
		harness.Images.Load(t, b.Agent, image)
		t.Run(language, func(t *testing.T) {
			for i, c := range cases {
				if some.LeavesOut(language, lineNumbers.ReplaceAllString(c.want, "")) { // a kind: the rules that match
					continue
				}
				b.Test(t, fmt.Sprintf("%d %.30q", i, c.source), func(t *testing.T) {
					if got := testFindings(t, b, language, "", c.source); got != c.want {
						t.Errorf("found %q; want %q in\n%.500s", got, c.want, c.source)
					}
				})
			}
		})
	}
}

// testFindings checks a source and returns the rules that matched, with their lines.
func testFindings(t *testing.T, b harness.Bench, language, name, source string) string {
	t.Helper()
	found, err := check.Program(language, name, []byte(source), func(r api.Run) (api.Result, error) {
		res := b.MustRun(t, r)
		if len(res.Stderr) > 0 {
			t.Logf("%s: %.1000s", res.Verdict, res.Stderr)
		}
		return res, nil
	})
	if err != nil {
		t.Fatal(err)
	}

	var words []string
	for _, f := range found {
		words = append(words, fmt.Sprintf("%s:%d", f.Rule, f.Line))
	}
	return strings.Join(words, " ")
}

// TestChecksOfEveryLanguage: in the program with a mistake on line 3 the check finds it there, and
// in the program without a mistake it finds nothing. It runs for the languages that TestLanguages
// runs for.
func TestChecksOfEveryLanguage(t *testing.T) {
	b := harness.Bench{Agent: harness.StartAgent(t, "--slots", "2", "--max-memory", "4G"), Slots: make(chan struct{}, 2)}
	some := harness.NewShare(3) // the broken source of each language
	for _, l := range harness.BuiltinLanguages(t) {
		if !harness.Chosen(l.Name, harness.LanguageTests[l.Name].OnlyAll) {
			continue
		}
		if _, ok := check.Plan(l.Name, l.SourceFile, []byte("x")); !ok {
			if l.Name != "sql" { // what reads its source executes it
				t.Errorf("%s has no checker", l.Name)
			}
			continue
		}

		harness.Images.Load(t, b.Agent, l.Image)
		rightToo, unparsableToo := !some.LeavesOut(), !some.LeavesOut()
		find := func(t *testing.T, source string) string { return testFindings(t, b, l.Name, l.SourceFile, source) }
		b.Test(t, l.Name, func(t *testing.T) {
			if got := find(t, checkSource(t, l, "broken")); !strings.Contains(got, ":3") && !checksTypesOnly[l.Name] {
				t.Errorf("found %q; want something on line 3", got)
			}

			if rightToo {
				if got := find(t, checkSource(t, l, "hello")); got != "" {
					t.Errorf("found %s in hello; want nothing", got)
				}
			}

			if unparsableToo {
				if got := find(t, unparsable[strings.TrimSuffix(l.Name, "-full")]); !strings.Contains(got, "syntax:") {
					t.Errorf("found %q; want a syntax error", got)
				}
			}
		})
	}
}

// A public class may be in a file of another name, as in brig run.
func TestACheckTakesJavaAsItIsRun(t *testing.T) {
	b := harness.Bench{Agent: harness.StartAgent(t, "--slots", "2", "--max-memory", "4G"), Slots: make(chan struct{}, 2)}
	harness.Images.Load(t, b.Agent, "java")
	if got := testFindings(t, b, "java", "t.java", "public class Hello {\n\tpublic static void main(String[] args) {}\n}\n"); got != "" {
		t.Errorf("found %q; want nothing", got)
	}
	if got := testFindings(t, b, "java", "t.java", "public class Hello {\n\tint n = \"text\";\n}\n"); got != "compile:2" {
		t.Errorf("found %q; want an error on line 2", got)
	}
}

// checksTypesOnly are the languages whose mistake on line 3 is a type error, while their checker
// reads only the syntax.
var checksTypesOnly = map[string]bool{"go": true, "typescript": true}

// unparsable are sources that cannot be parsed.
var unparsable = map[string]string{
	"python": "f(\n", "javascript": "f(\n", "typescript": "f(\n", "c": "int main(void) {\n", "cpp": "int main() {\n",
	"java": "public class Main {\n", "go": "package main\nfunc main() {\n", "rust": "fn main() {\n", "ruby": "def f\n", "php": "<?php f(;\n",
	"bash": "if true; then\n", "perl": "if (1) {\n", "lua": "if true then\n", "csharp": "class A {\n", "mono": "class A {\n",
	"fsharp": "let f x =\n    (x + 1\n", "vb": "Module A\n    Sub Main()\n        F(\n", "powershell": "if ($a {\n",
	"pascal":  "program a;\nbegin\n x := ;\nend.\n",
	"haskell": "main = (\n", "pypy": "f(\n", "ocaml": "let () = (\n", "kotlin": "fun main() {\n", "scala": "object A {\n",
	"swift": "func f( {\n",
	"d":     "void main() {\n", "r": "f(\n", "fortran": "program a\n if (\nend program a\n",
}

func checkSource(t *testing.T, l languages.Manifest, name string) string {
	t.Helper()
	r, ok := languageRun(t, l, name)
	if !ok {
		t.Fatalf("%s has no program %s", l.Name, name)
	}
	return string(r.Source)
}

// A Perl source that ends its parser is not reported as correct.
func TestPerlCannotEndItsParserUnseen(t *testing.T) {
	a := harness.StartAgent(t, "--slots", "2", "--max-memory", "4G")
	harness.Images.Load(t, a, "perl")
	b := harness.Bench{Agent: a, Slots: make(chan struct{}, 2)}
	for source, want := range map[string]string{
		"print 1;\n":                        "",
		"BEGIN { exit 0 }\nif (1) {\n":      "not-checked:0",
		"use POSIX; BEGIN { _exit(0) } {\n": "not-checked:0",
	} {
		if got := testFindings(t, b, "perl", "main.pl", source); got != want {
			t.Errorf("%q: found %q; want %q", source, got, want)
		}
	}
}

// The parser reads untrusted input: whatever happens to it, the check ends and reports it.
func TestACheckIsARun(t *testing.T) {
	a := harness.StartAgent(t, "--slots", "2", "--max-memory", "4G")
	harness.Images.Load(t, a, "cpp")
	b := harness.Bench{Agent: a, Slots: make(chan struct{}, 2)}
	if got := testFindings(t, b, "c", "main.c", "#include \"/dev/zero\"\nint main(void) { return 0; }\n"); got != "not-checked:0" {
		t.Errorf("found %q; want not-checked", got)
	}
}
