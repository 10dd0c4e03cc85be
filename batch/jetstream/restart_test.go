package jetstream_test

import (
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/batch/jetstream"
)

// An engine that is killed while a coordinator begins resets its connection, or refuses it until it is back.
func TestACoordinatorWaitsForAnEngineThatRestarts(t *testing.T) {
	_, public, err := jetstream.NewKey()
	if err != nil {
		t.Fatal(err)
	}

	dying, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}

	address := dying.Addr().String()
	restarted := make(chan error, 1)
	go func() { // joined below
		c, err := dying.Accept()
		if err == nil {
			err = errors.Join(c.(*net.TCPConn).SetLinger(0), c.Close(), dying.Close()) // a reset
		}
		var s *jetstream.Server
		if err == nil {
			s, err = jetstream.StartServer(jetstream.ServerConfig{Dir: t.TempDir(), Pool: "p", Listen: address,
				Workers: []jetstream.Worker{{Name: "w", Pool: "p", Key: public}}})
		}
		if err == nil {
			t.Cleanup(s.Stop)
		}
		restarted <- err
	}()

	// The engine of this test has no key for a coordinator elsewhere: its refusal shows that it answered.
	began := time.Now()
	_, err = jetstream.ConnectToRestarting(t.Context(), jetstream.Target{URL: "nats://" + address, Pool: "p"})
	if failed := <-restarted; failed != nil {
		t.Fatal(failed)
	}
	if err == nil || !strings.Contains(err.Error(), "Authorization Violation") {
		t.Errorf("after %s: %v; want the refusal of the engine that came back", time.Since(began), err)
	}
}
