package dialect

import (
	"encoding/json"
	"time"

	"github.com/brig-sandbox/brig/api"
)

// MaxUnderWay is the most submissions of one key that have not ended.
const MaxUnderWay = 512

// A Submission is work that goes on after the request for it was answered. Clients ask by its token what became of it.
type Submission struct {
	About json.RawMessage // what the dialect wants to know of it whenever it tells its state
	Runs  []api.Run       // executed one after the other

	// Enough reports whether a result ends the submission before the rest of Runs; nil: none does.
	Enough func(api.Result) bool
}

// A Submit asks for submissions. Either all that are not refused get a token, or none.
type Submit struct {
	All  []Submission
	Wait bool                   // the answer is sent when they have ended; if the client leaves before, they are canceled
	Tell func([]State) Response // a state for each of All
}

// A Recall asks what became of submissions.
type Recall struct {
	Tokens []string
	Tell   func([]State) Response // a state for each of Tokens
}

// A State is what is known of a submission. It is kept for its key and dialect alone, for a while after its end, and
// not after a restart of the service.
type State struct {
	Token   string          `json:"token,omitempty"` // empty: there is none that the caller may know of, or it was refused
	About   json.RawMessage `json:"about,omitempty"`
	Created time.Time       `json:"created,omitzero"`
	Started time.Time       `json:"started,omitzero"` // when a slot was free for its first run; zero: not yet
	Ended   time.Time       `json:"ended,omitzero"`   // zero: not yet

	Results []api.Result `json:"results,omitempty"` // of its runs, when it has ended; only the last one has its output
	Problem *api.Problem `json:"problem,omitempty"` // why brig refused it, or failed to execute it; nil: neither
}
