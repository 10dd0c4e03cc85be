package grade

import (
	"regexp"
	"sync"
)

// compiled returns a function that compiles an expression when it is first needed: every command of brig links this
// package, and most need none.
func compiled(text string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })
}
