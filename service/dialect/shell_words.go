package dialect

import (
	"fmt"
	"strings"
)

// ShellWords splits arguments into words as a shell does, where the original has one do it: "-x c" is two words. What a
// shell would replace or execute is refused.
func ShellWords(arguments []string) (words []string, err error) {
	text := strings.Join(arguments, " ")
	var word strings.Builder
	begun := false // also by quotes around nothing

	quote := byte(0)
	for i := 0; i < len(text); i++ {
		c := text[i]
		next := byte(0)
		if i+1 < len(text) {
			next = text[i+1]
		}

		switch {
		case c == 0:
			return nil, fmt.Errorf("a NUL byte cannot be in an argument")
		case quote == '\'' && c != '\'', quote == '"' && !strings.ContainsRune("\"\\$`", rune(c)):
			word.WriteByte(c)
		case quote != 0 && c == quote:
			quote = 0
		case quote == 0 && (c == '\'' || c == '"'):
			quote, begun = c, true
		case c == '\\' && next == 0:
			return nil, fmt.Errorf(`the arguments end with \`)
		case c == '\\' && quote == '"' && !strings.ContainsRune("\"\\$`\n", rune(next)):
			word.WriteByte(c)
		case c == '\\':
			i++
			if next != '\n' {
				word.WriteByte(next)
				begun = true
			}
		case c == ' ', c == '\t':
			if begun {
				words = append(words, word.String())
			}
			word.Reset()
			begun = false
		case strings.ContainsRune("$`|&;<>()*?[\n", rune(c)), !begun && (c == '#' || c == '~'):
			return nil, fmt.Errorf("a shell would not take %q as it is, and brig has no shell read arguments: put it in quotes", c)
		default:
			word.WriteByte(c)
			begun = true
		}
	}

	if quote != 0 {
		return nil, fmt.Errorf("a quote %c is not closed", quote)
	}
	if begun {
		words = append(words, word.String())
	}
	return words, nil
}
