package check

import "github.com/brig-sandbox/brig/api"

// A rule is what a checker may tell of. %s in its message is the name it saw.
type rule struct {
	severity api.Severity
	message  string
}

// rules are all that a run may find; docs/check.md lists them.
var rules = map[string]rule{
	"syntax":      {api.SeverityError, "%s"},
	"compile":     {api.SeverityError, "%s"},
	"import":      {api.SeverityWarning, "%s"},                   // the file may be given with the run
	"unreadable":  {api.SeverityError, "the parser gave up: %s"}, // these two: what nobody could read is not found fine
	"not-checked": {api.SeverityError, "the source could not be checked: %s"},
	"large":       {api.SeverityWarning, "the source has %s bytes: the most that is usual is 1 MiB"},

	"network": {api.SeverityInfo, "%s is for a network, and a sandbox has none"},

	"python-eval":       {api.SeverityError, "%s carries out any text as a program"},
	"python-exec":       {api.SeverityError, "%s carries out any text as a program"},
	"python-os-system":  {api.SeverityError, "%s starts other programs"},
	"python-subprocess": {api.SeverityError, "%s starts other programs"},
	"python-pickle":     {api.SeverityError, "%s carries out what the data say"},
	"python-import":     {api.SeverityWarning, "%s imports what its argument names"},

	"js-eval":          {api.SeverityError, "%s carries out any text as a program"},
	"js-function":      {api.SeverityError, "the constructor %s makes a program of any text"},
	"js-child-process": {api.SeverityError, "%s starts other programs"},
	"js-inner-html":    {api.SeverityWarning, "%s takes text as markup, scripts and all"},

	"private-key": {api.SeverityCritical, "a private key"},
	"token":       {api.SeverityCritical, "%s"},
	"password":    {api.SeverityError, "a password or key is written into the source as %s: pass it in by the environment"},
}
