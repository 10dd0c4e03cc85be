package kernels

import (
	"fmt"
	"math/rand"
	"slices"
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/api"
)

var (
	eventNames  = []string{"submit", "left", "timeout", "interrupt", "restart", "close", "ready", "finished", "grace", "exited"}
	actionNames = []string{"launch", "begin", "end", "refuse", "abandon", "interrupt", "wait", "kill"}
)

// parseEvent reads "submit 1", "silent 1", "finished 1 ok".
func parseEvent(t *testing.T, text string) Event {
	t.Helper()
	var name, status string
	e := Event{}
	_, _ = fmt.Sscan(text, &name, &e.Cell, &status)
	e.Status = api.CellStatus(status)
	if name == "silent" {
		name, e.Silent = "submit", true
	}
	kind := slices.Index(eventNames, name)
	if kind < 0 {
		t.Fatalf("no event %q", name)
	}
	e.Kind = EventKind(kind)
	return e
}

func (a Action) String() string {
	text := actionNames[a.Kind]
	if a.Cell != 0 {
		text += fmt.Sprint(" ", a.Cell)
	}
	if a.Kind == Begin {
		text += fmt.Sprint(" #", a.Count)
	}
	if a.Status != "" {
		text += " " + string(a.Status)
	}
	if a.Restarted {
		text += " restarted"
	}
	return text
}

func TestStep(t *testing.T) {
	for name, steps := range map[string][]string{
		"cells one after the other": {
			"submit 1 -> launch", "submit 2 ->", "ready -> begin 1 #1",
			"finished 1 ok -> end 1 ok, begin 2 #2", "finished 2 error -> end 2 error"},
		"a silent cell is not counted": {
			"restart -> launch", "ready ->", "silent 1 -> begin 1 #0", "finished 1 ok -> end 1 ok", "submit 2 -> begin 2 #1"},
		"a client that leaves interrupts its cell alone": {
			"submit 1 -> launch", "ready -> begin 1 #1", "submit 2 ->", "submit 3 ->", "left 2 ->", "left 1 -> interrupt, wait 1",
			"finished 1 interrupted -> end 1 interrupted, begin 3 #2"},
		"a cell that does not end is killed": {
			"submit 1 -> launch", "ready -> begin 1 #1", "left 1 -> interrupt, wait 1", "submit 2 ->", "grace 1 -> kill",
			"exited -> end 1 interrupted restarted, launch", "ready -> begin 2 #1 restarted", "finished 2 ok -> end 2 ok",
			"submit 3 -> begin 3 #2"},
		"a timeout": {
			"submit 1 -> launch", "ready -> begin 1 #1", "timeout 1 -> interrupt, wait 1", "left 1 ->", "interrupt ->",
			"finished 1 interrupted -> end 1 timeout"},
		"a timeout of a cell that has caught the signal and ended well": {
			"submit 1 -> launch", "ready -> begin 1 #1", "timeout 1 -> interrupt, wait 1", "finished 1 ok -> end 1 ok"},
		"a timeout of a cell that has to be killed": {
			"submit 1 -> launch", "ready -> begin 1 #1", "timeout 1 -> interrupt, wait 1", "grace 1 -> kill",
			"exited -> end 1 timeout restarted"},
		"what comes too late changes nothing": {
			"submit 1 -> launch", "ready -> begin 1 #1", "interrupt -> interrupt, wait 1", "finished 1 interrupted -> end 1 interrupted",
			"grace 1 ->", "timeout 1 ->", "left 1 ->", "interrupt ->", "submit 2 -> begin 2 #2", "grace 1 ->", "timeout 1 ->",
			"left 1 ->"},
		"the program ends its interpreter": {
			"submit 1 -> launch", "ready -> begin 1 #1", "exited -> end 1 died restarted", "exited ->", "submit 2 -> launch",
			"ready -> begin 2 #1 restarted", "finished 2 ok -> end 2 ok", "submit 3 -> begin 3 #2"},
		"the interpreter ends while no cell is executed": {
			"restart -> launch", "ready ->", "exited ->", "submit 1 -> launch", "ready -> begin 1 #1 restarted"},
		"an interpreter that does not start": {
			"submit 1 -> launch", "submit 2 ->", "exited -> abandon 1, abandon 2", "submit 3 -> launch"},
		"restart": {
			"submit 1 -> launch", "ready -> begin 1 #1", "submit 2 ->", "restart -> kill", "restart ->",
			"exited -> end 1 interrupted restarted, launch", "restart ->", "ready -> begin 2 #1 restarted"},
		"restart while idle": {"restart -> launch", "ready ->", "restart -> kill", "submit 1 ->", "exited -> launch",
			"ready -> begin 1 #1 restarted"},
		"restart of a cell that is killed already": {
			"submit 1 -> launch", "ready -> begin 1 #1", "timeout 1 -> interrupt, wait 1", "restart -> kill",
			"exited -> end 1 timeout restarted, launch"},
		"close": {"submit 1 -> launch", "ready -> begin 1 #1", "submit 2 ->", "close -> kill, end 1 died, abandon 2", "exited ->",
			"submit 3 -> abandon 3", "close ->", "ready ->"},
		"close of a kernel that is killed":   {"submit 1 -> launch", "ready -> begin 1 #1", "restart -> kill", "close -> end 1 died"},
		"close without an interpreter":       {"close ->"},
		"close while the interpreter starts": {"submit 1 -> launch", "close -> kill, abandon 1"},
		"a program forges that cells have ended": {
			"submit 1 -> launch", "finished 1 ok ->", "ready -> begin 1 #1", "ready ->", "finished 7 ok ->", "submit 2 ->",
			"finished 2 ok ->", "finished 1 ok -> end 1 ok, begin 2 #2", "finished 1 error ->", "finished 2 ok -> end 2 ok",
			"finished 2 ok ->", "finished 0 ok ->"},
	} {
		t.Run(name, func(t *testing.T) {
			var s State
			for _, step := range steps {
				event, want, _ := strings.Cut(step, " ->")
				var actions []Action
				s, actions = Step(s, parseEvent(t, event))
				var got []string
				for _, a := range actions {
					got = append(got, a.String())
				}
				if text := strings.Join(got, ", "); text != strings.TrimSpace(want) {
					t.Fatalf("%s: %q, want %q", event, text, strings.TrimSpace(want))
				}
			}
		})
	}
}

func TestCellsThatWaitAreBounded(t *testing.T) {
	var s State
	for cell := int64(1); cell <= api.KernelCells; cell++ {
		s, _ = Step(s, Event{Kind: Submitted, Cell: cell})
	}
	s, actions := Step(s, Event{Kind: Submitted, Cell: 99})
	if len(actions) != 1 || actions[0].Kind != Refuse || len(s.Waiting) != api.KernelCells {
		t.Errorf("%v, and %d wait", actions, len(s.Waiting))
	}
}

// Whatever happens in whatever order, each cell is begun at most once and in order, gets one end, and interpreters are
// started and killed one at a time.
func TestAnyOrderOfEvents(t *testing.T) {
	for seed := range int64(300) {
		r := rand.New(rand.NewSource(seed))
		var s State
		var next, begun int64
		alive, killed, closed := false, false, false
		open := map[int64]bool{} // cells without an end
		var trace []string
		for range 60 {
			e := Event{Kind: EventKind(r.Intn(len(eventNames))), Cell: r.Int63n(next + 2), Status: api.CellOK}
			switch e.Kind {
			case Submitted:
				next++
				e.Cell = next
				open[next] = true
			case Close:
				if r.Intn(10) > 0 {
					continue
				}
				closed = true
			case Exited:
				if !alive {
					continue
				}
				alive, killed = false, false
			}
			if e.Kind == Left && s.Cell != e.Cell {
				if slices.Contains(s.Waiting, e.Cell) {
					delete(open, e.Cell)
				}
			}

			before := fmt.Sprint(s)
			was := s
			var actions []Action
			s, actions = Step(s, e)
			if fmt.Sprint(was) != before {
				t.Fatalf("seed %d: Step has changed the state that it was given: %v", seed, trace)
			}
			trace = append(trace, fmt.Sprint(eventNames[e.Kind], " ", e.Cell, " -> ", actions))
			for _, a := range actions {
				wrong := false
				switch a.Kind {
				case Launch:
					wrong = alive || closed
					alive = true
				case Kill:
					wrong = !alive || killed
					killed = true
				case Begin:
					wrong = !alive || killed || a.Cell <= begun || !open[a.Cell]
					begun = a.Cell
				case End, Refuse, Abandon:
					wrong = !open[a.Cell]
					delete(open, a.Cell)
				case Interrupt:
					wrong = !alive || killed || s.Cell == 0
				}
				if wrong {
					t.Fatalf("seed %d: wrong action %v after\n%s", seed, a, strings.Join(trace, "\n"))
				}
			}
			if closed && len(open) > 0 {
				t.Fatalf("seed %d: closed, and cells %v have no end:\n%s", seed, open, strings.Join(trace, "\n"))
			}
		}
	}
}
