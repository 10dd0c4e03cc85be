package dialect

import (
	"testing"

	"github.com/brig-sandbox/brig/api"
)

func TestOrder(t *testing.T) {
	var o Order
	for _, p := range []OrderedPiece{{false, 2}, {true, 1}, {true, 2}, {false, 1}} {
		o.Add(p.Stderr, p.Bytes)
	}
	if len(o) != 3 || o[1] != (OrderedPiece{true, 3}) {
		t.Errorf("%+v", o)
	}
	for _, tt := range []struct{ out, errs, want string }{
		{"abc", "123", "ab123c"},
		{"abcd", "12345", "ab123cd45"}, // more than it knows of
		{"a", "1", "a1"},               // cut
		{"", "", ""},
	} {
		if got := o.Merge(api.Bytes(tt.out), api.Bytes(tt.errs)); string(got) != tt.want {
			t.Errorf("%q and %q are %q; want %q", tt.out, tt.errs, got, tt.want)
		}
	}

	var many Order
	for i := range 3 * maxOrdered {
		many.Add(i%2 == 1, 1)
	}
	if len(many) > maxOrdered || string(many.Merge(make(api.Bytes, 9000), api.Bytes("x"))[:2]) != "\x00x" {
		t.Errorf("%d pieces", len(many))
	}
}
