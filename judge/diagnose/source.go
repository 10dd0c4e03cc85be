package diagnose

import (
	"bytes"
	"cmp"
	"fmt"
	"strings"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/judge/diagnose/messages"
)

// hintOfText returns a hint for a program that failed because of the encoding or the line ends of
// its file. These are invisible in an editor, and messages show them badly or not at all. It is
// empty for others.
func hintOfText(language, sourceName string, source []byte, d api.Diagnosis) string {
	unread := d.Category == api.CategorySyntax || d.Category == api.CategoryCompile || d.Type == string(api.Nonzero)
	switch file := cmp.Or(d.File, cmp.Or(messages.OwnFile(sourceName), "FILE")); {
	case unread && (bytes.HasPrefix(source, []byte("\xff\xfe")) || bytes.HasPrefix(source, []byte("\xfe\xff"))):
		return fmt.Sprintf("the file is saved as UTF-16: save it as UTF-8, for example with iconv -f UTF-16 -t UTF-8 %s >new-file", file)
	case language == "bash" && d.Category != api.CategorySignal && d.Category != api.CategoryValue &&
		d.Type != string(api.Nonzero) &&
		(bytes.Contains(source, []byte("\r\n")) || strings.Contains(d.Message, `\r'`)):
		return fmt.Sprintf(`the script has Windows line ends (CR LF), which bash reads as part of its words: sed -i 's/\r$//' %s`, file)
	}
	return ""
}
