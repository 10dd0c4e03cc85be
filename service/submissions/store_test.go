package submissions

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/dialect"
)

var ann, bob = owner{"ann", "judge0"}, owner{"bob", "judge0"}

// added adds one submission of a size.
func (s *store) added(t *testing.T, o owner, size int64) *kept {
	t.Helper()
	all, err := s.add(o, []json.RawMessage{json.RawMessage(`{}`)}, []int64{size})
	if err != nil {
		t.Fatal(err)
	}
	return all[0]
}

func (s *store) has(o owner, k *kept) bool {
	states, _ := s.find(o, []string{k.state.Token})
	return states[0].Token != ""
}

func printed(n int) []api.Result {
	return []api.Result{{Verdict: api.OK, Stdout: api.Bytes(strings.Repeat("x", n))}}
}

// A token is found by its key, in its dialect. To others it does not exist, and it cannot be guessed.
func TestSubmissionsAreOfOneKey(t *testing.T) {
	var s store
	seen := map[string]bool{}
	form := regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)
	for range 100 {
		k := s.added(t, ann, 10)
		if token := k.state.Token; seen[token] || !form.MatchString(token) {
			t.Errorf("token %s", token)
		}
		seen[k.state.Token] = true
		if !s.has(ann, k) || s.has(bob, k) || s.has(owner{"ann", "other"}, k) || s.has(owner{}, k) {
			t.Error("not found by its owner, or found by another one")
		}
	}
}

// What is known of a submission grows, and ends once.
func TestStatesOfASubmission(t *testing.T) {
	at := time.Unix(1000, 0)
	s := store{Now: func() time.Time { return at }}
	k := s.added(t, ann, 10)
	state, _ := s.state(k)
	if !state.Created.Equal(at) || !state.Started.IsZero() || !state.Ended.IsZero() {
		t.Errorf("%+v", state)
	}

	at = at.Add(time.Second)
	s.begin(k)
	at = at.Add(time.Second)
	s.begin(k) // an attempt after one that failed
	s.end(k, printed(100), nil)
	state, size := s.state(k)
	if state.Started.Unix() != 1001 || state.Ended.Unix() != 1002 || len(state.Results) != 1 ||
		size != 2+memoryOfResult+100 || s.size != size {
		t.Errorf("%+v, %d bytes of %d", state, size, s.size)
	}
}

// Too many that have not ended are refused, all or none, and each key has room for some.
func TestSubmissionsUnderWayAreBounded(t *testing.T) {
	var s store
	var first *kept
	for i := range dialect.MaxUnderWay {
		k := s.added(t, ann, 1)
		if i == 0 {
			first = k
		}
	}

	two := []json.RawMessage{nil, nil}
	if _, err := s.add(ann, two, []int64{1, 1}); err == nil || !strings.Contains(err.Error(), "512 submissions of this key") {
		t.Errorf("%v", err)
	}
	s.added(t, bob, 1)
	s.drop(first)
	if _, err := s.add(ann, two, []int64{1, 1}); err == nil {
		t.Error("there is room for one, and two were added")
	}
	s.added(t, ann, 1)
	if len(s.all) != dialect.MaxUnderWay+1 || s.size != int64(len(s.all)) {
		t.Errorf("%d of %d bytes", len(s.all), s.size)
	}
}

// Those that have ended make room, first those of the key that has the most. Those that have not, stay.
func TestEndedSubmissionsMakeRoom(t *testing.T) {
	var s store
	small := s.added(t, bob, 10)
	s.end(small, printed(10), nil)
	var all []*kept
	for range 20 {
		k := s.added(t, ann, 10)
		s.end(k, printed(MaxBytes/16), nil)
		all = append(all, k)
	}
	if !s.has(bob, small) || s.has(ann, all[0]) || !s.has(ann, all[19]) || s.size > MaxBytes {
		t.Errorf("%d bytes; bob's is there: %v", s.size, s.has(bob, small))
	}

	big := []*kept{s.added(t, ann, MaxBytes/4), s.added(t, ann, MaxBytes/4), s.added(t, ann, MaxBytes/4)}
	if s.size > MaxBytes || !s.has(ann, big[0]) {
		t.Errorf("%d bytes", s.size)
	}
	if _, err := s.add(ann, []json.RawMessage{nil}, []int64{MaxBytes/4 + 1}); !api.HasCode(err, api.CodeTooLarge) {
		t.Errorf("%v", err)
	}

	s.added(t, ann, MaxBytes/4-1000)
	if _, err := s.add(bob, []json.RawMessage{nil}, []int64{1001}); err == nil || !strings.Contains(err.Error(), "take") {
		t.Errorf("%v", err)
	}

	// Output that there is no room for is told as a failure, and not as what the program wrote.
	k := s.added(t, bob, 10)
	s.end(k, printed(5000), nil)
	if state, _ := s.state(k); state.Problem == nil || state.Problem.Code != api.CodeBusy || state.Results != nil {
		t.Errorf("%+v", state)
	}
	if s.size > MaxBytes {
		t.Errorf("%d bytes", s.size)
	}
}

// Those that ended long ago are forgotten, and so are the oldest of too many.
func TestSubmissionsAreForgotten(t *testing.T) {
	at := time.Unix(1000, 0)
	s := store{Now: func() time.Time { return at }}
	old, going := s.added(t, ann, 1), s.added(t, ann, 1)
	s.end(old, nil, nil)
	at = at.Add(keptFor)
	if !s.has(ann, old) {
		t.Error("forgotten too early")
	}
	at = at.Add(time.Second)
	if s.has(ann, old) || !s.has(ann, going) {
		t.Error("an old one is there, or one that has not ended is not")
	}

	for range maxEnded + 10 {
		s.end(s.added(t, bob, 1), nil, nil)
	}
	if s.ended.Len() != maxEnded || len(s.all) != maxEnded+1 {
		t.Errorf("%d have ended", s.ended.Len())
	}
	at = at.Add(2 * keptFor)
	s.end(going, nil, nil)
	if len(s.all) != 1 || len(s.sums) != 1 || len(s.going) != 0 {
		t.Errorf("%d are kept, of %d keys", len(s.all), len(s.sums))
	}
}
