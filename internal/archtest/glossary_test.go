package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"regexp"
	"strings"
	"testing"
)

// tree is what the glossary may name: files, directories, and what each package declares.
type tree struct {
	paths    map[string]bool
	declared map[string]map[string]bool // by directory: Name, and Type.Member
}

// Every name in the third column of the glossary is that of a package, a file or an identifier.
func TestGlossaryNamesWhatExists(t *testing.T) {
	in, page := tree{map[string]bool{}, map[string]map[string]bool{}}, ""
	eachFile(t, func(name string, text []byte) {
		for p := name; p != "."; p = path.Dir(p) {
			in.paths[p] = true
		}
		if name == "docs/glossary.md" {
			page = string(text)
		}
		if strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go") {
			in.addDeclarations(t, name, text)
		}
	})

	named := 0
	for _, line := range strings.Split(page, "\n") {
		cells := strings.Split(line, " | ")
		if len(cells) != 3 {
			continue
		}
		names := regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(cells[2], -1)
		for _, name := range names {
			named++
			if !in.has(name[1], names) {
				t.Errorf("%s: there is no %s", strings.Trim(cells[0], "| "), name[0])
			}
		}
	}

	if named < 80 {
		t.Errorf("only %d names were found in the glossary", named)
	}

	for _, wrong := range []string{"pool.Ticket", "service/queue.Turn", "service/nosuch.go", "nosuch", "runtime.Pool"} {
		if in.has(wrong, [][]string{{"", "runtime/pool"}}) {
			t.Errorf("%s is found, and does not exist", wrong)
		}
	}
}

// has reports whether a name exists. A name without a package is of one that the same cell names.
func (in tree) has(name string, cell [][]string) bool {
	if in.paths[name] {
		return true
	}

	for dir, declared := range in.declared {
		for _, of := range []string{dir, path.Base(dir)} {
			if identifier, ok := strings.CutPrefix(name, of+"."); ok && declared[identifier] {
				return true
			}
		}
		for _, other := range cell {
			if other[1] == dir && declared[name] {
				return true
			}
		}
	}

	return false
}

func (in tree) addDeclarations(t *testing.T, name string, text []byte) {
	f, err := parser.ParseFile(token.NewFileSet(), name, text, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}

	dir := path.Dir(name)
	if in.declared[dir] == nil {
		in.declared[dir] = map[string]bool{}
	}

	add := func(names ...string) { in.declared[dir][strings.Join(names, ".")] = true }
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil {
				add(d.Name.Name)
			} else {
				add(typeName(d.Recv.List[0].Type), d.Name.Name)
			}

		case *ast.GenDecl:
			for _, s := range d.Specs {
				switch s := s.(type) {
				case *ast.TypeSpec:
					add(s.Name.Name)
				case *ast.ValueSpec:
					for _, n := range s.Names {
						add(n.Name)
					}
				}
			}
		}
	}
}

// typeName returns the name of a receiver's type.
func typeName(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return typeName(e.X)
	case *ast.IndexExpr:
		return typeName(e.X)
	case *ast.Ident:
		return e.Name
	}
	return ""
}
