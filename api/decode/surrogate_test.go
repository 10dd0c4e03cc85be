package decode_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/api/decode"
)

func TestHalfACharacterIsRefused(t *testing.T) {
	for text, half := range map[string]string{
		`plain`:                    ``,
		`\n\t\"\\\/\u0041\u00e9`:   ``,
		`\ud83d\ude00`:             ``,
		`\uD83D\uDE00\ud83d\ude00`: ``,
		`\\ud800`:                  ``, // a backslash and text
		`\ufffd`:                   ``,
		`\ud800`:                   `\ud800`,
		`\udc00`:                   `\udc00`,
		`a\\\ud83dx`:               `\ud83d`,
		`\ude00\ud83d`:             `\ude00`,
		`\ud83d\ud83d\ude00`:       `\ud83d`,
		`\ud83d\ude00\uDBFF`:       `\uDBFF`,
		`\ud83d\\ude00`:            `\ud83d`,
	} {
		_, err := decode.Run([]byte(`{"image": "tiny", "argv": ["` + text + `"]}`))
		var e *api.Error
		switch {
		case half == "" && err != nil:
			t.Errorf("%s: %v", text, err)
		case half != "" && (!errors.As(err, &e) || e.Code != api.CodeBadRequest || !strings.Contains(e.Message, half+" is half a character")):
			t.Errorf("%s: %v; want that %s is refused", text, err, half)
		}
	}

	for _, broken := range []string{`{"argv":["\u`, `{"argv":["\ud800`, `{"argv":["\ud800\u"]}`, `{"argv":["\uzzzz"]}`, `{"argv":["\`} {
		if _, err := decode.Run([]byte(broken)); err == nil {
			t.Errorf("%s is taken", broken)
		}
	}
}
