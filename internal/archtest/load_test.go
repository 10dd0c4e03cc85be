package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"strings"
	"testing"
)

// compilers are functions that take long enough to matter: each command of brig executes what every package computes
// when it is loaded, and so do brigd and each process that it starts for a cell.
var compilers = map[string]bool{"regexp.MustCompile": true, "regexp.MustCompilePOSIX": true, "template.Must": true}

// No package compiles an expression or a template when it is loaded: some thirty took an eighth of the processor time of
// brigd --version, and most commands need none.
func TestNothingIsCompiledWhenAPackageIsLoaded(t *testing.T) {
	eachGoFile(t, func(name string, text []byte) {
		if strings.HasPrefix(name, "internal/bench/") || strings.HasPrefix(name, "internal/e2e/") || strings.HasSuffix(name, "_test.go") ||
			strings.HasSuffix(path.Dir(name), "test") || strings.HasPrefix(name, "testdata/") || strings.HasPrefix(name, "internal/test") {
			return
		}

		for _, call := range compiledOnLoad(t, name, text) {
			t.Errorf("%s calls %s when its package is loaded: wrap it in sync.OnceValue", name, call)
		}
	})
}

// compiledOnLoad lists the calls of compilers in a file that are executed before main.
func compiledOnLoad(t *testing.T, name string, text []byte) (found []string) {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), name, text, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}

	look := func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit: // executed by whoever calls it
			return false
		case *ast.SelectorExpr:
			if pkg, ok := n.X.(*ast.Ident); ok && compilers[pkg.Name+"."+n.Sel.Name] {
				found = append(found, pkg.Name+"."+n.Sel.Name)
			}
		}
		return true
	}

	for _, decl := range f.Decls {
		switch d := decl.(type) {
		case *ast.GenDecl:
			ast.Inspect(d, look)
		case *ast.FuncDecl:
			if d.Recv == nil && d.Name.Name == "init" {
				ast.Inspect(d.Body, look)
			}
		}
	}
	return found
}

func TestCompiledOnLoadFindsEachPlace(t *testing.T) {
	for _, tt := range []struct {
		text string
		want int
	}{
		{"var a = regexp.MustCompile(`x`)", 1},
		{"var a = regexp.MustCompile(`x`).MatchString", 1},
		{"var a = []rule{{regexp.MustCompile(`x`)}, {regexp.MustCompile(`y`)}}", 2},
		{"var a = template.Must(template.New(``).Parse(`x`))", 1},
		{"func init() { a = regexp.MustCompile(`x`) }", 1},
		{"var a = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`x`) })", 0},
		{"func f() { regexp.MustCompile(`x`) }", 0},
		{"func (t) init() { regexp.MustCompile(`x`) }", 0},
	} {
		if got := compiledOnLoad(t, "x.go", []byte("package x\n"+tt.text)); len(got) != tt.want {
			t.Errorf("%s: %v; want %d", tt.text, got, tt.want)
		}
	}
}
