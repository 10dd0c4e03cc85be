package grade

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/text/collate"
	"golang.org/x/text/language"
)

// byMoodle is the form of the names that Moodle gives to what it packs: NAME_ID_assignsubmission_file_FILE.
var byMoodle = compiled(`^(.+?)(?:_[0-9]+)?_assignsubmission_[a-z]+(?:_.*)?$`)

// personOf is the name of the person in the name of a file or directory that a learning platform made; other names
// are returned as they are.
func personOf(entry string) string {
	if match := byMoodle().FindStringSubmatch(entry); match != nil {
		return match[1]
	}
	return entry
}

// extension is what is left out of the name of a file to get that of a person: not the end of "J. Doe" or "v1.2".
var extension = compiled(`[.][A-Za-z][A-Za-z0-9+]{0,7}$`)

// SetNames gives each submission the shortest name that is its own: that of the person whom a learning platform names,
// or the name of its file without the extension; and the name of the file or directory if two would have the same: that
// of a directory with a slash, if it is the name of a file without its extension. Then it sorts them by name.
func SetNames(all []Submission) {
	short := func(s Submission) string {
		if s.Name != s.entry || s.folder {
			return s.Name
		}
		return strings.TrimSuffix(s.entry, extension().FindString(s.entry))
	}

	count := map[string]int{}
	ofFile := map[string]bool{}
	for _, s := range all {
		count[short(s)]++
		ofFile[short(s)] = ofFile[short(s)] || !s.folder
	}

	used := map[string]bool{}
	last := map[string]int{} // numbers that submissions of one file name got
	for i := range all {
		name := short(all[i])
		if count[name] > 1 || name == "" {
			if name = all[i].entry; all[i].folder && ofFile[name] { // it must not become that of ann.py (TestAFolderTakesNoName)
				name += "/"
			}
		}
		for entry := all[i].entry; used[name]; {
			last[entry] = max(last[entry], 1) + 1
			name = fmt.Sprintf("%s (%d)", entry, last[entry])
		}
		used[name] = true
		all[i].Name = name
	}

	sortByName(all, func(s Submission) string { return s.Name })
}

// sortByName sorts as people do, in the same way in every locale: by the order of Unicode for all languages, in which
// Élodie is next to Elke, and numbers by their value.
func sortByName[T any](all []T, name func(T) string) {
	order := collate.New(language.Und, collate.Numeric)
	slices.SortStableFunc(all, func(a, b T) int {
		return cmp.Or(order.CompareString(name(a), name(b)), cmp.Compare(name(a), name(b)))
	})
}
