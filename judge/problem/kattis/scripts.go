package kattis

import (
	"bytes"
	"path"
	"regexp"
	"sync"

	"github.com/brig-sandbox/brig/judge/problem"
)

var (
	compiles = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`\b(cc|c\+\+|g\+\+|gcc|clang|clang\+\+)(\s|$)`)
	})
	runs = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^#!\s*(\S*/)?(env\s+)?(\S*/)?(ba|da|k|z)?sh\b`)
	})
)

// script describes a validator that is a directory with a build or run script, or a file called run, and reports
// whether it is one. dir is the directory; empty: the program is one file. Scripts are of a POSIX shell, as the format
// says, so sh runs them, whatever shell their #! line names and whether or not they have an x bit, which
// archives lose. They run in the image for C++, which has sh, cc and c++, or, if they name Python and no compiler, in
// that for Python.
func (r *reader) script(p *problem.Program, dir string) bool {
	build := path.Join(dir, "build")
	switch run := path.Join(dir, "run"); {
	case dir == "" && path.Base(p.Files[0]) == "run":
		p.Main = p.Files[0]
	case dir != "" && r.tree.Has(build):
		p.Main = build
	case dir != "" && r.tree.Has(run):
		p.Main = run
	default:
		return false
	}

	const rule = "Programs"
	text, err := r.tree.Read(p.Main, maxBinary)
	if err != nil {
		r.Error(p.Main, 0, rule, "%v", err)
		return true
	}

	name := path.Base(p.Main)
	first, _, _ := bytes.Cut(text, []byte("\n"))
	switch {
	case bytes.HasPrefix(text, []byte("\x7fELF")):
		p.Language, p.Command = "cpp", []string{"./" + name}
	case bytes.HasPrefix(first, []byte("#!")) && bytes.Contains(first, []byte("python")):
		p.Language, p.Command = "python", []string{"python3", name}
	case !bytes.HasPrefix(first, []byte("#!")) || runs().Match(first):
		p.Language, p.Command = "cpp", []string{"sh", name}
		if bytes.Contains(text, []byte("python")) && !compiles().Match(text) {
			p.Language = "python"
		}
	default:
		r.Error(p.Main, 1, rule, "%q: brig runs scripts of a POSIX shell and of Python", first)
	}

	if name == "build" {
		if r.p.Generate == nil {
			r.p.Generate = new(problem.Generation)
		}
		r.p.Generate.Builds = append(r.p.Generate.Builds, *p)
	}

	return true
}

// maxBinary bounds a program that was built, in bytes.
const maxBinary = 64 << 20
