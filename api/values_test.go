package api

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// valued returns the result of the Values method of a closed type.
func valued[T interface {
	~string
	Values() []T
}]() []string {
	var none T
	var all []string
	for _, v := range none.Values() {
		all = append(all, string(v))
	}
	return all
}

func TestValuesAreTheConstants(t *testing.T) {
	got := map[string][]string{
		"Verdict": valued[Verdict](), "Stage": valued[Stage](), "Answer": valued[Answer](), "Comparison": valued[Comparison](),
		"Mode": valued[Mode](), "ProfileMode": valued[ProfileMode](), "State": valued[State](), "SessionState": valued[SessionState](),
		"JobStatus": valued[JobStatus](), "BatchState": valued[BatchState](), "BatchKeep": valued[BatchKeep](),
		"FileKind": valued[FileKind](), "ChangeKind": valued[ChangeKind](),
		"Severity": valued[Severity](), "Category": valued[Category](), "AlertKind": valued[AlertKind](),
		"ServiceStatus": valued[ServiceStatus](), "EventName": valued[EventName](), "Code": valued[Code](), "PackageKind": valued[PackageKind](),
		"Protocol": valued[Protocol](), "PointsAs": valued[PointsAs](), "First": valued[First](), "ProgramIO": valued[ProgramIO](),
		"Aggregation": valued[Aggregation](), "GroupPass": valued[GroupPass](),
		"ReportFormat": valued[ReportFormat](), "KernelLanguage": valued[KernelLanguage](), "KernelState": valued[KernelState](),
		"ProcessStdin": valued[ProcessStdin](), "ProcessState": valued[ProcessState](), "ProcessStream": valued[ProcessStream](),
		"CellStatus": valued[CellStatus](), "CellEventType": valued[CellEventType](),
		"MachineState": valued[MachineState](), "AuditAction": valued[AuditAction](),
		"RejudgeState": valued[RejudgeState](), "LinkShow": valued[LinkShow](),
	}

	want := constants(t)
	for name, values := range want {
		slices.Sort(values)
		if slices.Sort(got[name]); !slices.Equal(got[name], values) {
			t.Errorf("%s has the values %q, and the constants %q", name, got[name], values)
		}
	}

	if len(want) != len(got) {
		t.Errorf("there are constants of %v, and values of %v", slices.Sorted(maps.Keys(want)), slices.Sorted(maps.Keys(got)))
	}
}

// constants returns the package's string constants with a named type, grouped by the type.
func constants(t *testing.T) map[string][]string {
	t.Helper()
	all := map[string][]string{}
	names, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}

	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}

		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}

		ast.Inspect(file, func(n ast.Node) bool {
			spec, is := n.(*ast.ValueSpec)
			if !is {
				return true
			}

			of, typed := spec.Type.(*ast.Ident)
			for _, v := range spec.Values {
				if lit, is := v.(*ast.BasicLit); typed && is && lit.Kind == token.STRING {
					text, err := strconv.Unquote(lit.Value)
					if err != nil {
						t.Fatal(err)
					}
					all[of.Name] = append(all[of.Name], text)
				}
			}

			return true
		})
	}

	return all
}
