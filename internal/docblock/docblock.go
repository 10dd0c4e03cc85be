// Package docblock writes the measurements of tools into hand-written documents.
package docblock

import (
	"bytes"
	"fmt"
	"os"
)

// Replace puts text between the lines begin and end of a file.
func Replace(name, begin, end, text string) error {
	old, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	head, rest, ok := bytes.Cut(old, []byte(begin+"\n"))
	_, tail, ok2 := bytes.Cut(rest, []byte(end))
	if !ok || !ok2 {
		return fmt.Errorf("%s has no block between %q and %q", name, begin, end)
	}
	return os.WriteFile(name, fmt.Appendf(nil, "%s%s\n%s\n%s%s", head, begin, text, end, tail), 0o644)
}
