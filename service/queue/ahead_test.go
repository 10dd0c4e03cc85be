package queue

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// What Ahead says of each waiting request is the order in which they then get their slots.
func TestAheadIsTheOrder(t *testing.T) {
	for _, callers := range []string{
		"a/x", "a/x a/x a/x", "a/x b/x", "a/x a/x b/x b/x b/x c/x", "a/x a/x a/y a/y a/y b/x", "a/x a/y a/x a/y c/x c/x b/z a/x b/z b/y",
	} {
		synctest.Test(t, func(t *testing.T) {
			q := New(1, 100)
			first, err := q.Take(t.Context(), Owner{Key: "first"})
			if err != nil {
				t.Fatal(err)
			}

			var mu sync.Mutex
			var got []string
			var wg sync.WaitGroup
			var owners []Owner
			for i, name := range strings.Fields(callers) {
				key, project, _ := strings.Cut(name, "/")
				o := Owner{Key: key, Project: project, Request: fmt.Sprint(i)}
				owners = append(owners, o)
				wg.Go(func() {
					slot, err := q.Take(t.Context(), o)
					if err != nil {
						t.Error(err)
						return
					}
					mu.Lock()
					got = append(got, o.Request)
					mu.Unlock()
					time.Sleep(time.Second)
					slot.Release()
				})
				synctest.Wait()
			}

			said := make([]string, len(owners))
			for _, o := range owners {
				n, waits := q.Ahead(o)
				if !waits || n >= len(said) || said[n] != "" {
					t.Fatalf("%s: request %s is at %d, %v, with %q", callers, o.Request, n, waits, said)
				}
				said[n] = o.Request
			}
			first.Release()
			wg.Wait()
			if fmt.Sprint(said) != fmt.Sprint(got) {
				t.Errorf("%s: said %v, got %v", callers, said, got)
			}
			if _, waits := q.Ahead(owners[0]); waits {
				t.Error("a request that has had its slot still waits")
			}
		})
	}
}

// A request in the background comes after all others, and one without a name is not found.
func TestAheadInTheBackground(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New(1, 10)
		q.SetBackground(1)
		if _, err := q.Take(t.Context(), Owner{Key: "first"}); err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		for _, o := range []Owner{{Key: "a", Request: "1"}, {Key: "b"}, {Key: "a", Request: "2", Background: true}} {
			wg.Go(func() { _, _ = q.Take(ctx, o) })
			synctest.Wait()
		}
		if n, waits := q.Ahead(Owner{Key: "a", Request: "2", Background: true}); n != 2 || !waits {
			t.Errorf("%d, %v; want 2", n, waits)
		}
		for _, o := range []Owner{{Key: "b"}, {Key: "b", Request: "1"}, {Key: "c", Request: "1"}, {Key: "a", Project: "x", Request: "1"}} {
			if n, waits := q.Ahead(o); waits {
				t.Errorf("%+v waits behind %d", o, n)
			}
		}
		stop()
		wg.Wait()
	})
}
