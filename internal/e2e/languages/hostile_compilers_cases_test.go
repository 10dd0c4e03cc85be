package languages

import (
	"strings"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/corpus"
)

// doubling returns n lines of macros, constants or types, each twice as large as the previous one.
func doubling(first, line string, n int) string {
	var b strings.Builder
	b.WriteString(first)
	for i := 1; i <= n; i++ {
		b.WriteString(strings.NewReplacer("$N", itoa(i), "$P", itoa(i-1)).Replace(line))
	}
	return b.String()
}

func itoa(n int) string { return string(rune('0'+n/10)) + string(rune('0'+n%10)) }

// CMP-01: small sources that cause endless work.
var bombs = []trap{
	{id: "CMP-01", name: "templates without end", language: "cpp",
		source: `template <int D, long N> struct T { static const long v = T<D - 1, 2 * N>::v + T<D - 1, 2 * N + 1>::v; };
template <long N> struct T<0, N> { static const long v = N; };
int main() { return T<40, 0>::v & 1; }`},
	{id: "CMP-01", name: "a constant expression without end", language: "cpp",
		source: `constexpr long f() { long s = 0; for (long i = 0; i < 1000000000000; i++) s += i; return s; }
static_assert(f() != 1); int main() {}`, says: "constexpr"},
	{id: "CMP-01", name: "macros that double", language: "c",
		source: doubling("#define A00 x,x\n", "#define A$N A$P,A$P\n", 40) + "int x; int main(void) { return (A40); }"},
	{id: "CMP-01", name: "a giant array", language: "c", source: "int a[1 << 28] = {1}; int main(void) { return a[5]; }"},
	{id: "CMP-01", name: "an array for the linker", language: "c", source: "char a[1L << 45]; int main(void) { return a[1L << 44]; }"},
	{id: "CMP-01", name: "a section of many GiB", language: "c",
		source: `__asm__(".data\n.fill 0x7fffffff, 8, 1"); int main(void) { return 0; }`},
	{id: "CMP-01", name: "a repetition in the assembler", language: "c",
		source: `__asm__(".rept 2000000000\n.rept 2000000000\nnop\n.endr\n.endr"); int main(void) { return 0; }`},
	{id: "CMP-01", name: "a constant without end", language: "rust",
		source: "const X: u64 = { let mut i = 0u64; while i < u64::MAX { i += 1 } i }; fn main() { println!(\"{}\", X) }", says: "const"},
	{id: "CMP-01", name: "macros that double", language: "rust",
		source: "#![recursion_limit = \"100000\"]\nmacro_rules! b { ($($t:tt)*) => { b!($($t)* $($t)*); } } fn main() { b!(x); }"},
	{id: "CMP-01", name: "types that double", language: "rust",
		source: "fn f<T>(n: u32, t: T) { if n > 0 { f(n - 1, (t, 1)) } } fn main() { f(9, 1) }", says: "recursion"},
	{id: "CMP-01", name: "constants that double", language: "java", source: "public class Main {\n" +
		doubling("static final String A00 = \"0123456789\";\n", "static final String A$N = A$P + A$P;\n", 40) +
		"public static void main(String[] a) { System.out.println(A40.length()); } }"},
	{id: "CMP-01", name: "types that double", language: "go",
		source: "package main\ntype T00 [2]int64\n" + doubling("", "type T$N struct { a, b T$P }\n", 62) +
			"var v T62\nfunc main() { println(&v) }"},
	{id: "CMP-01", name: "a giant constant", language: "go",
		source: "package main\nconst c = 1 << 400000000\nfunc main() { println(c >> 399999999) }", says: "shift"},
	{id: "CMP-01", name: "a giant array", language: "go",
		source: "package main\nvar a = [1 << 31]int{1 << 30: 7}\nfunc main() { println(a[1<<30]) }"},
}

// asmInclude is a C program that prints what an assembler directive included.
func asmInclude(directive string) string {
	return `#include <stdio.h>
__asm__(".section .rodata\n.global b\n.global e\nb:\n` + directive + `\ne:\n.byte 0\n.text");
extern const char b[], e[];
int main(void) { fwrite(b, 1, e - b, stdout); return 0; }`
}

// CMP-02, CMP-03, CMP-04: sources that make the compiler read files that are not theirs.
var readTraps = []trap{
	{id: "CMP-02", name: "zeros", language: "c", source: "#include \"/dev/zero\"\nint main(void) {}"},
	{id: "CMP-02", name: "random bytes", language: "c", source: "#include \"/dev/urandom\"\nint main(void) {}"},
	{id: "CMP-02", name: "a terminal", language: "c", source: "#include \"/dev/tty\"\nint main(void) {}"},
	{id: "CMP-02", name: "a disk", language: "c", source: "#include \"/dev/vda\"\n#include \"/dev/sda\"\nint main(void) {}"},
	{id: "CMP-02", name: "the input", language: "c", source: "#include \"/dev/stdin\"\nint main(void) {}", want: anyOutcome},
	{id: "CMP-02", name: "the input's descriptor", language: "c", source: "#include \"/proc/self/fd/0\"\nint " +
		"main(void) {}", want: anyOutcome},
	{id: "CMP-02", name: "zeros", language: "rust", source: "fn main() { println!(\"{}\", include_bytes!(\"/dev/zero\").len()) }"},
	{id: "CMP-02", name: "zeros as a module", language: "rust", source: "#[path = \"/dev/zero\"] mod x; fn main() {}"},
	{id: "CMP-02", name: "zeros by the assembler", language: "c", source: asmInclude(`.incbin \"/dev/zero\"`), want: anyOutcome},

	{id: "CMP-03", name: "the host's file", language: "c", source: "#include \"$CANARY\"\nint main(void) {}", says: "No such file"},
	{id: "CMP-03", name: "the agent's environment", language: "c",
		source: "#include \"/proc/1/environ\"\nint main(void) {}", want: anyOutcome},
	{id: "CMP-03", name: "the compiler's environment", language: "c",
		source: "#include \"/proc/self/environ\"\nint main(void) {}", want: anyOutcome},
	{id: "CMP-03", name: "command lines", language: "c",
		source: "#include \"/proc/1/cmdline\"\n#include \"/proc/$VICTIM/cmdline\"\nint main(void) {}"},
	{id: "CMP-03", name: "the agent's root", language: "c",
		source: "#include \"/proc/1/root$CANARY\"\n#include \"/proc/self/root$CANARY\"\n#include " +
			"\"/proc/1/cwd/etc/passwd\"\nint main(void) {}"},
	{id: "CMP-03", name: "mounts", language: "c", source: "#include \"/proc/self/mountinfo\"\nint main(void) {}", want: anyOutcome},
	{id: "CMP-03", name: "up and out", language: "cpp",
		source: "#include \"../../../../../../../..$CANARY\"\nint main() {}", says: "No such file"},
	{id: "CMP-03", name: "whether it is there", language: "cpp",
		source: "#if __has_include(\"$CANARY\")\n#error it is $ENVCANARY there\n#endif\nint main() {}", want: anyOutcome},

	{id: "CMP-04", name: "the assembler's .incbin", language: "c", source: asmInclude(`.incbin \"$CANARY\"`), says: "file not found"},
	{id: "CMP-04", name: "the assembler's .include", language: "c", source: `__asm__(".include \"$CANARY\""); int main(void) {}`},
	{id: "CMP-04", name: "an environment by .incbin", language: "c", source: asmInclude(`.incbin \"/proc/1/environ\"`), want: anyOutcome},
	{id: "CMP-04", name: "include_str", language: "rust", source: "fn main() { println!(\"{}\", include_str!(\"$CANARY\")) }",
		says: "couldn't read"},
	{id: "CMP-04", name: "include_bytes of an environment", language: "rust",
		source: "fn main() { println!(\"{}\", String::from_utf8_lossy(include_bytes!(\"/proc/1/environ\"))) }", want: anyOutcome},
	{id: "CMP-04", name: "the compiler's environment", language: "rust",
		source: "fn main() { println!(\"{:?} {:?}\", option_env!(\"" + corpus.EnvName +
			"\"), include_str!(\"/proc/self/environ\")) }", want: anyOutcome},
	{id: "CMP-04", name: "a module elsewhere", language: "rust", source: "#[path = \"$CANARY\"] mod x; fn main() {}", says: "couldn't read"},
	{id: "CMP-04", name: "a library elsewhere", language: "rust",
		source: "#[link(name = \"x\", kind = \"static\")] extern \"C\" { fn f(); } #[link(name = \":$CANARY\")] " +
			"extern \"C\" { fn g(); } fn main() { unsafe { f(); g() } }"},
	{id: "CMP-04", name: "go:embed", language: "go",
		source: "package main\nimport _ \"embed\"\n//go:embed $CANARY\nvar s string\nfunc main() { println(s) }", says: "pattern"},
	{id: "CMP-04", name: "go:embed, up and out", language: "go",
		source: "package main\nimport _ \"embed\"\n//go:embed ../../../..$CANARY\nvar s string\nfunc main() { " +
			"println(s) }", says: "pattern"},
	{id: "CMP-04", name: "cgo", language: "go",
		source: "package main\n// #cgo CFLAGS: -I/ -fplugin=/box/p.so\n// #cgo LDFLAGS: -Wl,-T,$CANARY\n// #include " +
			"\"$CANARY\"\nimport \"C\"\nfunc main() { println(C.X) }"},
	{id: "CMP-04", name: "a file of arguments", language: "java", source: "public class Main {}",
		files: []api.File{{Name: "@args.java", Content: []byte("class B {}")},
			{Name: "args.java", Content: []byte("-processorpath /box -J-javaagent:x")}}},
	{id: "CMP-04", name: "a link in the assembler of Go", language: "go", source: "package main\nfunc f()\nfunc main() { f() }",
		files: []api.File{{Name: "f.s", Content: []byte("#include \"$CANARY\"\nTEXT ·f(SB),0,$0\nRET\n")}}},
}

const deep = 1_000_000

// CMP-12, CMP-13, CMP-15, CMP-17: unusual input for compilers.
var oddTraps = []trap{
	{id: "CMP-12", name: "a plugin by pragma", language: "c",
		source: "#pragma GCC optimize (\"O3,fplugin=/box/p.so\")\n#pragma GCC optimize (\"-fplugin=/box/p.so\")\nint " +
			"main(void) { return 0; }",
		want: anyOutcome},
	{id: "CMP-12", name: "an option by attribute", language: "c",
		source: "__attribute__((optimize(\"-fdump-tree-all=/box/x\", \"O3\"), target(\"avx512f\"))) int f(int x) { " +
			"return x; }\nint main(void) { return f(0); }", want: anyOutcome},
	{id: "CMP-12", name: "a precompiled header by pragma", language: "c",
		source: "#pragma GCC pch_preprocess \"$CANARY\"\nint main(void) { return 0; }", want: anyOutcome},
	{id: "CMP-12", name: "a file's age by pragma", language: "c",
		source: "#pragma GCC dependency \"$CANARY\"\nint main(void) { return 0; }", want: anyOutcome},
	{id: "CMP-12", name: "names of the runtime", language: "go",
		source: "package main\nimport _ \"unsafe\"\n//go:linkname exit runtime.exit\nfunc exit(code int32)\nfunc main() { exit(3) }",
		want:   anyOutcome},
	{id: "CMP-12", name: "libraries by pragma", language: "go",
		source: "package main\n//go:cgo_import_dynamic x x \"$CANARY\"\n//go:cgo_ldflag \"-T$CANARY\"\nfunc main() {}",
		says:   "only allowed in cgo-generated code"},
	{id: "CMP-12", name: "a compiler's plugin", language: "rust",
		source: "#![feature(plugin)]\n#![plugin(evil)]\n#![crate_type = \"proc-macro\"]\nfn main() {}"},
	{id: "CMP-12", name: "procedural macros", language: "rust",
		source: "#![crate_type = \"proc-macro\"]\nextern crate proc_macro;\n#[proc_macro] pub fn evil(i: " +
			"proc_macro::TokenStream) -> proc_macro::TokenStream { " +
			"std::fs::read_to_string(\"$CANARY\").unwrap().parse().unwrap() }\nfn main() {}", want: anyOutcome},

	{id: "CMP-13", name: "a million parentheses", language: "c",
		source: "int main(void) { return " + strings.Repeat("(", deep) + "0" + strings.Repeat(")", deep) + "; }"},
	{id: "CMP-13", name: "a million parentheses", language: "cpp",
		source: "int main() { return " + strings.Repeat("(", deep) + "0" + strings.Repeat(")", deep) + "; }"},
	{id: "CMP-13", name: "a million parentheses", language: "java",
		source: "public class Main { int i = " + strings.Repeat("(", deep) + "0" + strings.Repeat(")", deep) + "; }"},
	{id: "CMP-13", name: "a million parentheses", language: "go",
		source: "package main\nvar i = " + strings.Repeat("(", deep) + "0" + strings.Repeat(")", deep) + "\nfunc main() {}", want: anyOutcome},
	{id: "CMP-13", name: "a million parentheses", language: "rust",
		source: "fn main() { let _i = " + strings.Repeat("(", deep) + "0" + strings.Repeat(")", deep) + "; }"},
	{id: "CMP-13", name: "a source that includes itself", language: "c",
		source: "#include __FILE__\n#include __FILE__\nint main(void) {}", says: "nested"},
	{id: "CMP-13", name: "a module that is itself", language: "rust", source: "#[path = \"main.rs\"] mod x; fn " +
		"main() {}", says: "circular"},

	{id: "CMP-15", name: "a program as a source", language: "c",
		source: "\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\x3e\x00"},
	{id: "CMP-15", name: "an archive as a source", language: "cpp",
		source: "!<arch>\nx.o/            0           0     0     644     4         `\nabcd"},
	{id: "CMP-15", name: "a linker's script as a source", language: "c", source: "INPUT($CANARY) OUTPUT(/box/x)"},
	{id: "CMP-15", name: "objects next to the source", language: "c", source: "int evil(void); int main(void) { return evil(); }",
		says: "undefined reference",
		files: []api.File{{Name: "evil.o", Content: []byte("\x7fELF")}, {Name: "libevil.a", Content: []byte("!<arch>\n")},
			{Name: "evil.s", Content: []byte(".global evil\nevil: ret\n")}}},
	{id: "CMP-15", name: "objects next to the source", language: "go", source: "package main\nfunc evil()\nfunc main() { evil() }",
		says: "missing function body",
		files: []api.File{{Name: "evil.syso", Content: []byte("\x7fELF")},
			{Name: "evil_amd64.s", Content: []byte("TEXT ·evil(SB),0,$0\nRET\n")}}},
	{id: "CMP-15", name: "a library next to the source", language: "rust", source: "extern crate evil; fn main() { evil::f() }",
		files: []api.File{{Name: "libevil.rlib", Content: []byte("!<arch>\n")}}, says: "evil"},
	{id: "CMP-15", name: "a class as a source", language: "java", source: "\xca\xfe\xba\xbe\x00\x00\x00\x45"},

	{id: "CMP-17", name: "a loader of one's own", language: "c", says: "cannot be executed",
		source: "const char loader[] __attribute__((section(\".interp\"), retain)) = \"/box/loader\"; int main(void) { return 0; }",
		files:  []api.File{{Name: "loader", Content: []byte("\x7fELF"), Executable: true}}},
	{id: "CMP-20", name: "a library", language: "go", source: "package notmain\nfunc main() {}\n", says: "package main"},
	{id: "CMP-20", name: "a library", language: "rust", source: "#![crate_type = \"lib\"]\npub fn f() {}\n", says: "main function"},
	{id: "CMP-20", name: "a library", language: "haskell", source: "module Foo where\nx = 1\n"},
	{id: "CMP-20", name: "a library", language: "pascal", source: "unit main; interface implementation end.\n"},
	{id: "CMP-20", name: "a library", language: "fortran", source: "module a\nend module a\n", says: "undefined reference"},
	{id: "CMP-20", name: "a library", language: "mono", source: "public class A {}\n", says: "Main"},
	{id: "CMP-20", name: "a library", language: "csharp", source: "public class A {}\n", says: "Main"},
	{id: "CMP-20", name: "a library", language: "vb", source: "Public Class A\nEnd Class\n", says: "Main"},
	{id: "CMP-20", name: "a library", language: "java", source: "class A {}\n", says: "main"},
	{id: "CMP-20", name: "a library", language: "c", source: "int x;\n", says: "main"},
	{id: "CMP-20", name: "a library", language: "cpp", source: "int x;\n", says: "main"},
	{id: "CMP-20", name: "a program of 70 MiB", language: "c",
		source: "char a[70 << 20] = {1}; int main(void) { return a[0] - 1; }\n", says: "brig: main: "},

	{id: "CMP-17", name: "a loader of the host", language: "c", says: "cannot be executed",
		source: "const char loader[] __attribute__((section(\".interp\"), retain)) = \"$CANARY\"; int main(void) { return 0; }"},
}
