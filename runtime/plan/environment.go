package plan

import (
	"maps"
	"slices"
)

// SearchPath is the PATH of a program whose language and caller set none.
const SearchPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// basicEnv is the environment of every run, before the language's and the caller's variables: none
// of the agent's own variables get in (CAP-10).
var basicEnv = map[string]string{
	"PATH":   SearchPath,
	"HOME":   "/box",
	"TMPDIR": "/tmp",
	"LANG":   "C.UTF-8",
}

// Environment merges them with the variables of every run, in sorted order; later ones take precedence.
func Environment(language, caller map[string]string) []string {
	all := maps.Clone(basicEnv)
	maps.Copy(all, language)
	maps.Copy(all, caller)
	var env []string
	for _, name := range slices.Sorted(maps.Keys(all)) {
		env = append(env, name+"="+all[name])
	}
	return env
}
