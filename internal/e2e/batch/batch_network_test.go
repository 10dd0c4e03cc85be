//go:build chaos

package batch

import (
	"math/rand/v2"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// A badNetwork passes on TCP connections as a network does that delays and loses packets: TCP sends them again, so
// a lost packet is one that comes late. The kernel of the test machine has no netem.
type badNetwork struct {
	delay      time.Duration // of each direction
	lost       float64       // share of packets
	late       time.Duration // how much later a lost packet comes
	broken     float64       // share of packets with which the connection breaks
	stalled    float64       // share of packets after which nothing passes for a while
	stall      time.Duration
	breaks     atomic.Int64
	stalls     atomic.Int64
	losses     atomic.Int64
	passed     atomic.Int64 // packets
	connection sync.WaitGroup
}

// serve passes on connections to a port of this host until the test ends, and returns the port to connect to.
func (n *badNetwork) serve(t *testing.T, port string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}

	var mu sync.Mutex
	open, ended := map[net.Conn]bool{}, false
	keep := func(c net.Conn) bool {
		mu.Lock()
		defer mu.Unlock()
		if ended {
			c.Close()
			return false
		}
		open[c] = true
		return true
	}

	n.connection.Go(func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return // the test has ended
			}

			out, err := net.Dial("tcp", "127.0.0.1:"+port)
			if err != nil { // the engine has ended: the client tries again
				in.Close()
				continue
			}
			if !keep(in) || !keep(out) {
				in.Close()
				out.Close()
				return
			}

			n.connection.Go(func() { n.pass(in, out) })
			n.connection.Go(func() { n.pass(out, in) })
		}
	})

	t.Cleanup(func() {
		l.Close()
		mu.Lock()
		ended = true
		for c := range open {
			c.Close()
		}
		mu.Unlock()
		n.connection.Wait()
	})

	_, own, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return own
}

// A packet passes at a time.
type packet struct {
	text []byte
	due  time.Time
}

// pass passes on what comes, in order, until one side ends. Packets are on their way at the same time.
func (n *badNetwork) pass(from, to net.Conn) {
	defer from.Close()
	defer to.Close()

	way := make(chan packet, 1000)
	n.connection.Go(func() {
		defer close(way)

		for {
			b := make([]byte, 1400)
			k, err := from.Read(b)
			if k > 0 {
				p := packet{b[:k], time.Now().Add(n.delay)}
				if rand.Float64() < n.lost {
					n.losses.Add(1)
					p.due = p.due.Add(n.late)
				}
				way <- p
			}

			if err != nil {
				return
			}
		}
	})

	for p := range way { // also after an end, until the reader has ended
		time.Sleep(time.Until(p.due))
		n.passed.Add(1)
		switch f := rand.Float64(); {
		case f < n.broken:
			n.breaks.Add(1)
			from.Close()
			to.Close()
		case f < n.broken+n.stalled:
			n.stalls.Add(1)
			time.Sleep(n.stall)
		}

		if _, err := to.Write(p.text); err != nil {
			from.Close() // the reader ends
		}
	}
}

// Workers reach their engine over a network with a delay of 50 ms there and back, that loses every twentieth packet
// (A11); in make chaos, connections also break, and stall for longer than a call waits.
func TestABatchOnABadNetwork(t *testing.T) {
	jobs, n := 60, &badNetwork{delay: 25 * time.Millisecond, lost: 0.05, late: 200 * time.Millisecond}
	if os.Getenv("BRIG_CHAOS") != "" {
		jobs, n.broken, n.stalled, n.stall = 1200, 0.002, 0.001, 8*time.Second
	}

	r := newBatchRigVia(t, 2, chaosJobs(jobs), func(port string) string { return n.serve(t, port) })
	r.coordinator.start(t)
	r.wait(5 * time.Minute)
	r.check(jobs)
	executions := r.executions()
	t.Logf("%d jobs, %d executions; of %d packets %d were lost, %d broke the connection, %d stalled it", jobs, executions, n.passed.Load(),
		n.losses.Load(), n.breaks.Load(), n.stalls.Load())
	if n.passed.Load() < int64(jobs) || n.losses.Load() == 0 ||
		os.Getenv("BRIG_CHAOS") != "" && (n.breaks.Load() == 0 || n.stalls.Load() == 0) {
		t.Error("the network was not bad")
	}
	if executions > jobs*13/10 {
		t.Errorf("%d executions of %d jobs", executions, jobs)
	}
}
