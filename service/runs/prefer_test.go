package runs

import (
	"testing"
	"time"
)

// What is wrong in a header Prefer is passed over, and the first of two preferences counts (RFC 7240, section 2).
func TestPreferences(t *testing.T) {
	wait := func(d time.Duration) preference { return preference{wait: d, hasWait: true} }
	for _, tt := range []struct {
		headers []string
		want    preference
	}{
		{nil, preference{}},
		{[]string{""}, preference{}},
		{[]string{"respond-async"}, preference{async: true}},
		{[]string{"Respond-Async; foo=bar"}, preference{async: true}},
		{[]string{`respond-async=""`}, preference{async: true}},
		{[]string{"respond-async=no"}, preference{}},
		{[]string{"not-respond-async"}, preference{}},
		{[]string{`handling="respond-async"`}, preference{}},
		{[]string{`handling="a, respond-async, wait=3"`}, preference{}},
		{[]string{`handling="a\", wait=3"`}, preference{}},
		{[]string{`handling="never closed, wait=3`}, preference{}},
		{[]string{"wait=7"}, wait(7 * time.Second)},
		{[]string{"wait=0"}, wait(0)},
		{[]string{` WAIT = "7" ; x=", wait=9"`}, wait(7 * time.Second)},
		{[]string{`wait="\7"`}, wait(7 * time.Second)},
		{[]string{"return=minimal, wait=10, respond-async"}, preference{async: true, wait: 10 * time.Second, hasWait: true}},
		{[]string{"respond-async", "wait=10"}, preference{async: true, wait: 10 * time.Second, hasWait: true}},
		{[]string{"wait=7, wait=9"}, wait(7 * time.Second)},
		{[]string{"wait=x, wait=9"}, preference{}},
		{[]string{"wait"}, preference{}},
		{[]string{"wait=-1"}, preference{}},
		{[]string{"wait=+1"}, preference{}},
		{[]string{"wait=1.5"}, preference{}},
		{[]string{"wait=99999999999999999999"}, preference{}},
		{[]string{`wait="`}, preference{}},
	} {
		if got := preferenceOf(tt.headers); got != tt.want {
			t.Errorf("%q: %+v; want %+v", tt.headers, got, tt.want)
		}
	}
}
