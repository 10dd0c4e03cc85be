package cli

import (
	"encoding/json"
	"fmt"
	"regexp"
	"sync"
	"unicode/utf8"
)

// Marshal returns indented JSON with a newline. It is called with types that always encode.
// encoding/json leaves DEL and U+0080 to U+009F as they are, and a terminal takes U+009B for ESC [.
// They occur only in strings, where an escape means the same.
func Marshal(v any) []byte {
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		panic(err)
	}
	b = controls().ReplaceAllFunc(b, func(c []byte) []byte {
		r, _ := utf8.DecodeRune(c)
		return fmt.Appendf(nil, `\u%04x`, r)
	})
	return append(b, '\n')
}

// controls are the control characters that encoding/json writes as they are.
var controls = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile("[\x7f\u0080-\u009f]") })
