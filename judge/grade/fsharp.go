package grade

import (
	"cmp"
	"encoding/xml"
	"path"
	"slices"
	"strings"
)

// inOrderOfUse sorts the files of an F# program as the project file that was handed in with them lists them: the
// compiler takes a name only from files before. Files that it does not list come first.
func (p project) inOrderOfUse(files []placement) {
	order := map[string]int{}
	for name, text := range p.texts {
		if !strings.EqualFold(path.Ext(name), ".fsproj") {
			continue
		}

		var made struct {
			Items []struct {
				Compile []struct {
					Include string `xml:"Include,attr"`
				} `xml:"Compile"`
			} `xml:"ItemGroup"`
		}
		if xml.Unmarshal(text, &made) != nil { // the files are compiled in the order of their names, as without it
			continue
		}

		for _, items := range made.Items {
			for _, source := range items.Compile {
				order[path.Join(path.Dir(name), strings.ReplaceAll(source.Include, `\`, "/"))] = len(order) + 1
			}
		}
	}

	if len(order) == 0 {
		return
	}
	slices.SortStableFunc(files, func(a, b placement) int { return cmp.Compare(order[a.from], order[b.from]) })
}
