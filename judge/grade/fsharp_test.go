package grade

import (
	"slices"
	"testing"
)

func TestFSharpFilesAreInTheOrderOfTheirProject(t *testing.T) {
	files := func(names ...string) (all []placement) {
		for _, name := range names {
			all = append(all, placement{name, name})
		}
		return all
	}

	const fsproj = `<Project Sdk="Microsoft.NET.Sdk"><ItemGroup><Compile Include="Zed.fs"/><Compile Include="lib\Beta.fs"/></ItemGroup>
<ItemGroup><Compile Include="Alpha.fs"/></ItemGroup></Project>`

	for _, tt := range []struct {
		name  string
		texts map[string][]byte
		want  []placement
	}{
		{"a project", map[string][]byte{"lee.fsproj": []byte(fsproj)}, files("data.txt", "Zed.fs", "lib/Beta.fs", "Alpha.fs")},
		{"a project below a directory", map[string][]byte{"src/lee.fsproj": []byte(fsproj)},
			files("Alpha.fs", "Zed.fs", "data.txt", "lib/Beta.fs")},
		{"a broken project", map[string][]byte{"lee.fsproj": []byte(fsproj[:80])}, files("Alpha.fs", "Zed.fs", "data.txt", "lib/Beta.fs")},
		{"none", nil, files("Alpha.fs", "Zed.fs", "data.txt", "lib/Beta.fs")},
	} {
		got := files("Alpha.fs", "Zed.fs", "data.txt", "lib/Beta.fs")
		project{texts: tt.texts}.inOrderOfUse(got)
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: %v; want %v", tt.name, got, tt.want)
		}
	}
}
