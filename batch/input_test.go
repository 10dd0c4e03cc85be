package batch

import (
	"errors"
	"io"
	"strings"
	"testing"
)

func TestInput(t *testing.T) {
	in := NewInput(strings.NewReader("\xef\xbb\xbf\n {\"a\":1} \r\n\n"+strings.Repeat("x", 100)+"\nlast"), 50)
	want := []Line{{Index: 0, Number: 2, Text: []byte(`{"a":1}`)}, {Index: 1, Number: 4, TooLong: true},
		{Index: 2, Number: 5, Text: []byte("last")}}
	for _, w := range want {
		l, err := in.Next()
		if err != nil || l.Index != w.Index || l.Number != w.Number || string(l.Text) != string(w.Text) || l.TooLong != w.TooLong {
			t.Errorf("%+v (%v), want %+v", l, err, w)
		}
	}
	if _, err := in.Next(); !errors.Is(err, io.EOF) {
		t.Errorf("the end: %v", err)
	}
}

func FuzzInput(f *testing.F) {
	f.Add("{\"a\": 1}\n\n{\"b\"")
	f.Add("{\"defaults\": {}}\n{}")
	f.Fuzz(func(t *testing.T, text string) {
		in := NewInput(strings.NewReader(text), 64)
		for index := int64(0); ; {
			l, err := in.Next()
			if errors.Is(err, io.EOF) {
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if l.Defaults != nil {
				continue
			}
			if l.Index != index || len(l.Text) > 64 || l.TooLong == (len(l.Text) > 0) {
				t.Fatalf("line %+v, want index %d", l, index)
			}

			index++
		}
	})
}
