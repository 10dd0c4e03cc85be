package mcp

import (
	"encoding/base64"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/brig-sandbox/brig/api"
)

// What an answer has of a cell at most. A program may write without end until its time is over, so the rest is not kept.
const (
	maxValues      = 16
	allValuesMax   = 32 << 10 // bytes of the text of values together
	maxPictures    = 4
	allPicturesMax = 1 << 20 // bytes of pictures together
	maxForms       = 20      // of a value
	nameMax        = 200     // bytes of what names something
)

// A stream keeps the beginning and the end of what was written.
type stream struct {
	head, tail []byte
	written    int64
}

func (s *stream) add(text string) {
	s.written += int64(len(text))
	n := min(len(text), headMax-len(s.head))
	s.head = append(s.head, text[:n]...)
	s.tail = append(s.tail, text[n:]...)
	if over := len(s.tail) - tailMax; over > 0 {
		s.tail = slices.Clone(s.tail[over:])
	}
}

// text is what is shown, and how many bytes are not.
func (s *stream) text() (string, int64) {
	left := s.written - int64(len(s.head)+len(s.tail))
	return clipText(s.head, s.tail, left)
}

// clipText joins a beginning and an end, between which left bytes are missing.
func clipText(head, tail []byte, left int64) (string, int64) {
	if left == 0 {
		return validText(append(slices.Clone(head), tail...)), 0
	}
	cut := api.Bytes(head).IncompleteTail()
	head = head[:len(head)-cut]
	rest := strings.TrimLeftFunc(string(tail), func(r rune) bool { return r == '\uFFFD' }) // the end of a character
	left += int64(cut + len(tail) - len(rest))
	return validText(head) + gap(left) + validText([]byte(rest)), left
}

// A picture is a value that clients show.
type picture struct {
	mime    string
	content []byte
}

// cellNotes gathers what the events of a cell tell.
type cellNotes struct {
	count          int
	fresh          bool
	stdout, stderr stream
	values         []CellValue
	leftOut        int // values
	valueBytes     int
	pictures       []picture
	pictureBytes   int
	failed         *CellError
}

// add notes an event.
func (n *cellNotes) add(e api.CellEvent) {
	switch e.Type {
	case api.CellEventStart:
		n.count, n.fresh = e.Count, e.Restarted
	case api.CellEventStdout:
		n.stdout.add(e.Text)
	case api.CellEventStderr:
		n.stderr.add(e.Text)
	case api.CellEventDisplay, api.CellEventResult:
		n.value(e)
	case api.CellEventError:
		n.failed = &CellError{Name: shorten(e.Name)}
		n.failed.Value, _ = clip(api.Bytes(e.Value), 0)
		n.failed.Traceback, _ = clip(api.Bytes(strings.Join(e.Traceback, "\n")), 0)
	case api.CellEventAsk, api.CellEventEnd, api.CellEventKeepAlive:
	}
}

// pictureForms and textForms are what a model may get of a value, the best first.
var (
	pictureForms = []string{"image/png", "image/jpeg", "image/gif", "image/webp"}
	textForms    = []string{"text/markdown", "text/plain", "text/latex", "application/json", "text/html", "image/svg+xml"}
)

// value notes a value.
func (n *cellNotes) value(e api.CellEvent) {
	if len(n.values) == maxValues {
		n.leftOut++
		return
	}
	v := CellValue{Kind: string(e.Type), Forms: []string{}}
	for _, mime := range slices.Sorted(maps.Keys(e.Data))[:min(len(e.Data), maxForms)] {
		v.Forms = append(v.Forms, shorten(mime))
	}

	for _, mime := range pictureForms {
		if content, is := e.Data[mime]; is {
			v.Picture, v.PictureLeftOut = n.picture(mime, content)
			break
		}
	}
	for _, mime := range textForms {
		if content, is := e.Data[mime]; is {
			v.Text, v.TextLeftOut = n.text(content)
			break
		}
	}
	n.values = append(n.values, v)
}

// text is the text of a form: that of a string, or JSON.
func (n *cellNotes) text(form json.RawMessage) (text string, leftOut int64) {
	if json.Unmarshal(form, &text) != nil {
		text = string(form)
	}
	short, leftOut := clip(api.Bytes(text), 0)
	if n.valueBytes+len(short) > allValuesMax {
		return "", int64(len(text))
	}
	n.valueBytes += len(short)
	return short, leftOut
}

// picture keeps a picture if there is room. It returns its number from 1 on, or why there is none.
func (n *cellNotes) picture(mime string, form json.RawMessage) (number int, why string) {
	if len(n.pictures) == maxPictures || n.pictureBytes+len(form)/4*3 > allPicturesMax {
		return 0, "an answer has at most 4 pictures of 1 MiB together: save it in a smaller form, or show it in a cell of its own"
	}
	var text string
	if json.Unmarshal(form, &text) != nil {
		return 0, "it is no text in base64"
	}
	content, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(text), ""))
	if err != nil {
		return 0, "it is no text in base64"
	}
	n.pictures = append(n.pictures, picture{mime, content})
	n.pictureBytes += len(content)
	return len(n.pictures), ""
}

// shorten returns valid text, and only the beginning of a long one.
func shorten(text string) string {
	if text = validText([]byte(text)); len(text) <= nameMax {
		return text
	}
	head := api.Bytes(text[:nameMax])
	return string(head[:len(head)-head.IncompleteTail()]) + "..."
}
