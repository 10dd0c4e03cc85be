package bpf

import (
	"testing"

	"github.com/brig-sandbox/brig/seccomp"
)

// BenchmarkCompileDefault measures the cost of a tier when the agent starts: both parts,
// compiled and verified.
func BenchmarkCompileDefault(b *testing.B) {
	p, err := seccomp.Tier("default")
	if err != nil {
		b.Fatal(err)
	}

	wide, last := seccomp.Split(p)
	b.Run("prove", func(b *testing.B) {
		for b.Loop() {
			for _, part := range []seccomp.Profile{wide, last} {
				if _, err := Compile(part); err != nil {
					b.Fatal(err)
				}
			}
		}
	})

	b.Run("trust", func(b *testing.B) {
		for b.Loop() {
			for _, part := range []seccomp.Profile{wide, last} {
				if _, err := compile(part); err != nil {
					b.Fatal(err)
				}
			}
		}
	})
}
