package grade

import (
	"bytes"
	"path"
	"slices"
	"strings"
)

// A placement is a file of a project, and the name that it has in the sandbox.
type placement struct{ from, to string }

// layout places the files of a project. The program starts in the directory of its main file, where it finds its
// other files: src/main.py becomes main.py, and src/words.txt becomes words.txt. Files outside of that directory keep
// their names. If a source names others relative to the directory above, sources stay where they are.
func (p project) layout(main string) (as string, others []placement) {
	dir := path.Dir(main)
	stay := dir != "." && slices.ContainsFunc(p.sources, func(name string) bool { return namesAbove(p.beginning(name)) })
	short := func(name string) string { return strings.TrimPrefix(name, dir+"/") }
	taken := map[string]bool{}
	place := func(from, to string) {
		if !taken[to] {
			taken[to] = true
			others = append(others, placement{from, to})
		}
	}

	as = short(main)
	if stay {
		as = main
	}

	taken[as] = true
	names := p.names()
	for _, name := range names {
		inDir := short(name) != name
		switch {
		case name == main:
		case stay && inDir && !slices.Contains(p.sources, name):
			place(name, name)
			place(name, short(name)) // a program opens it by this name
		case stay:
			place(name, name)
		case inDir:
			place(name, short(name))
		}
	}

	for _, name := range names { // those in the directory of the main file take precedence
		if !stay && name != main && short(name) == name {
			place(name, name)
		}
	}

	p.placeHeaders(main, as, others, place)
	return as, others
}

// names are the names of all files, sorted.
func (p project) names() []string {
	all := make([]string, 0, len(p.texts))
	for name := range p.texts {
		all = append(all, name)
	}
	slices.Sort(all)
	return all
}

var (
	quoted     = compiled(`(?m)^[ \t]*#[ \t]*include[ \t]*"([^"\n]+)"`)
	aboveLines = compiled(`(?m)^.*\b(include|import|from|require|require_relative)\b.*["'][.][.]/.*$`)
)

func namesAbove(text []byte) bool {
	return bytes.Contains(text, []byte("../")) && aboveLines().Match(text)
}

// maxIncludes is how many lines with #include are looked at. A file of nothing else took minutes
// (TestManyIncludesTakeLittleTime).
const maxIncludes = 10_000

// placeHeaders places a header that a source includes by a name under which it is not found next to it, and that one
// file of the project has: people have their headers in include/, and tell their compiler.
func (p project) placeHeaders(main, as string, others []placement, place func(from, to string)) {
	byBase := map[string][]string{}
	for _, name := range p.names() {
		byBase[path.Base(name)] = append(byBase[path.Base(name)], name)
	}

	left := maxIncludes
	known := map[string]bool{as: true}
	queue := append([]placement{{main, as}}, others...)
	for _, one := range queue {
		known[one.to] = true
	}

	for len(queue) > 0 && left > 0 {
		one := queue[0]
		queue = queue[1:]
		for _, match := range quoted().FindAllSubmatch(p.texts[one.from], left) {
			left--
			wanted := string(match[1])
			to := path.Join(path.Dir(one.to), wanted)
			if known[to] || strings.HasPrefix(to, "../") {
				continue
			}

			known[to] = true
			found := slices.DeleteFunc(slices.Clone(byBase[path.Base(wanted)]),
				func(name string) bool { return !strings.HasSuffix("/"+name, "/"+wanted) })
			if len(found) != 1 {
				continue // the compiler says that it is missing
			}

			place(found[0], to)
			queue = append(queue, placement{found[0], to})
		}
	}
}
