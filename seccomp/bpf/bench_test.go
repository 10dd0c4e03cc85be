package bpf

import (
	"testing"

	"github.com/brig-sandbox/brig/seccomp"
)

// What an agent pays for a tier at its start: both parts, compiled and proven.
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
