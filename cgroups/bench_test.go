package cgroups

import (
	"testing"
)

func BenchmarkLeaf(b *testing.B) {
	l := newLeaf(b)
	want := Limits{MemoryBytes: 64 * mib, CPUs: 1, Pids: 100}
	apply(b, l, want)

	for _, bm := range []struct {
		name string
		do   func() error
	}{
		{"ApplyUnchanged", func() error { return l.Apply(want) }},
		{"ApplyMemoryChanged", func() error { want.MemoryBytes ^= mib; return l.Apply(want) }},
		{"Begin", func() error {
			if !l.peakReset {
				l.begun = 0
			}
			return l.Begin()
		}},
		{"Usage", func() error { _, err := l.Usage(); return err }},
		{"CPUTime", func() error { _, err := l.CPUTime(); return err }},
		{"Sample", func() error { _, err := l.Sample(); return err }},
		{"Empty", func() error { _, err := l.Empty(); return err }},
	} {
		b.Run(bm.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := bm.do(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
