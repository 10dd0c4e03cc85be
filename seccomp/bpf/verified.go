package bpf

// verified has the sum of each filter that TestVerifiedFilters has compared with its profile, and which one it is.
// go test ./seccomp/bpf -run TestVerifiedFilters -update writes it. A filter that is not here, as on another
// architecture or of another libseccomp, is compared when it is compiled.
var verified = map[string]string{
	"93d3d4177ea95b087a3783dddde27f5367bb187f3641ae52e5a8bffca9bd1cd8": "strict, wide",
	"d0ce0993a5656d9796cffef8edab2298724b2efbe3e0eea2843bdb3991d8baa8": "strict, last",
	"14f198324649d9e1afe39233290d2136298977a0d1081be925afce864e7e1bca": "default, wide",
	"bd2be90c836c7a838bc9c6e4c46a655e6ff227a2b3b0c730e66a2d7dc54371e7": "default, last",
	"4279d941c6011f7233922b4cab12bc0dad60ee06946f3fab082a71429a610e23": "managed, wide",
	"6387f663de169cb56f6ec258638402539bb235f23b5be2b14fe6b811f28040fc": "compile, wide",
	"f862a2eba70991254f38f3e052403ae7237ec9dcaf06260707466d287a93ba1c": "network, wide",
}
