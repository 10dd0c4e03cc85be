package templates

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/e2e/harness"
)

// randomSources are programs that print what must be another thing in each run.
var randomSources = map[string]map[string]string{
	"python": {
		"random":                  "import random; print(random.random(), random.getrandbits(64))",
		"os.urandom":              "import os; print(os.urandom(16).hex())",
		"getrandom":               "import os; print(os.getrandom(16).hex())",
		"uuid4":                   "import uuid; print(uuid.uuid4())",
		"secrets":                 "import secrets; print(secrets.token_hex())",
		"tempfile":                "import tempfile; print(tempfile.mktemp())",
		"ssl":                     "import ssl; print(ssl.RAND_bytes(16).hex())",
		"shuffle":                 "import random; x = list(range(100)); random.shuffle(x); print(x)",
		"SystemRandom":            "import random; print(random.SystemRandom().random())",
		"multiprocessing authkey": "import multiprocessing; print(bytes(multiprocessing.current_process().authkey).hex())",
		"stack":                   "print([l.split()[0] for l in open('/proc/self/maps') if '[stack]' in l])",
		"AT_RANDOM":               "print(open('/proc/self/auxv', 'rb').read().hex())",
		"new mapping":             "import mmap; m = mmap.mmap(-1, 1 << 24); print(open('/proc/self/maps').read())",
		"stack canary": "import ctypes\n" +
			"f = ctypes.CFUNCTYPE(ctypes.c_ulong)(ctypes.addressof(c := " +
			"ctypes.create_string_buffer(b'\\x64\\x48\\x8b\\x04\\x25\\x28\\x00\\x00\\x00\\xc3')))\n" +
			"import mmap\nm = mmap.mmap(-1, 4096, prot=7); m.write(c.raw[:10])\n" +
			"print(ctypes.CFUNCTYPE(ctypes.c_ulong)(ctypes.addressof(ctypes.c_char.from_buffer(m)))())",
	},
	"bash": {
		"RANDOM":    "echo $RANDOM $RANDOM $RANDOM",
		"SRANDOM":   "echo $SRANDOM",
		"mktemp":    "mktemp -u",
		"stack":     "grep stack /proc/$$/maps",
		"heap":      "grep heap /proc/$$/maps",
		"AT_RANDOM": "od -x /proc/$$/auxv",
	},
	"perl": {
		"rand":         "print rand, ' ', rand",
		"srand":        "print srand",
		"hash order":   "my %h = map { $_ => 1 } 1 .. 50; print keys %h",
		"another hash": "print join ' ', keys %{{map { ($_ => 1) } 'a' .. 'zz'}}",
		"shuffle":      "use List::Util 'shuffle'; print shuffle 1 .. 50",
		"address":      "print \\1, {}, sub {}",
		"File::Temp":   "use File::Temp; print File::Temp->new",
		"urandom":      "open my $f, '<', '/dev/urandom'; read $f, my $b, 16; print unpack 'H*', $b",
		"AT_RANDOM":    "open my $f, '<', '/proc/self/auxv'; print unpack 'H*', <$f>",
		"a library":    "use POSIX; open my $f, '<', '/proc/self/maps'; print grep /POSIX|heap/, <$f>",
	},
	"ruby": {
		"rand":          "p rand, Random.rand(1 << 60)",
		"seed":          "p Random.seed, Random.new_seed, srand",
		"Random.new":    "p Random.new.rand(1 << 60)",
		"urandom":       "p Random.urandom(16)",
		"shuffle":       "p (1..50).to_a.shuffle, (1..1000).to_a.sample(5)",
		"SecureRandom":  "require 'securerandom'; p SecureRandom.hex, SecureRandom.uuid, SecureRandom.random_number(1 << 60)",
		"openssl":       "require 'openssl'; p OpenSSL::Random.random_bytes(16)",
		"tempfile":      "require 'tempfile'; p Tempfile.new.path",
		"mktmpdir":      "require 'tmpdir'; p Dir.mktmpdir",
		"fork":          "r, w = IO.pipe; fork { w.puts rand(1 << 60) }; Process.wait; w.close; p r.read",
		"a thread":      "p Thread.new { rand(1 << 60) }.value",
		"a ractor":      "p Ractor.new { rand(1 << 60) }.take",
		"stack":         "puts File.readlines('/proc/self/maps').grep(/stack|heap/)",
		"AT_RANDOM":     "p File.binread('/proc/self/auxv')",
		"a new library": "require 'zlib'; puts File.readlines('/proc/self/maps').grep(/zlib/)",
	},
	"php": {
		"mt_rand":      "<?php echo mt_rand(), ' ', mt_rand();",
		"rand":         "<?php echo rand(), ' ', rand();",
		"random_int":   "<?php echo random_int(0, PHP_INT_MAX);",
		"random_bytes": "<?php echo bin2hex(random_bytes(16));",
		"lcg":          "<?php echo lcg_value();",
		"uniqid":       "<?php echo uniqid('', true);",
		"shuffle": "<?php $a = range(1, 50); shuffle($a); echo implode(',', $a), " +
			"str_shuffle('abcdefghijklmnopqrstuvwxyz'), array_rand(range(0, 1000));",
		"Randomizer": "<?php $r = new Random\\Randomizer; echo $r->nextInt(), bin2hex($r->getBytes(16)); $e = new " +
			"Random\\Engine\\Mt19937; echo bin2hex($e->generate());",
		"engines": "<?php echo bin2hex((new Random\\Engine\\Xoshiro256StarStar)->generate()), bin2hex((new " +
			"Random\\Engine\\PcgOneseq128XslRr64)->generate());",
		"password":  "<?php echo password_hash('x', PASSWORD_BCRYPT, ['cost' => 4]);",
		"tempnam":   "<?php echo tempnam('/tmp', 'x');",
		"gmp":       "<?php echo gmp_strval(gmp_random_bits(100));",
		"sqlite":    "<?php echo (new PDO('sqlite::memory:'))->query('select random()')->fetchColumn();",
		"AT_RANDOM": "<?php echo bin2hex(file_get_contents('/proc/self/auxv'));",
		"stack":     "<?php echo implode(preg_grep('/stack|heap/', file('/proc/self/maps')));",
	},
	"javascript": {
		"Math.random":      "console.log(Math.random(), Math.random())",
		"a context":        "console.log(require('vm').runInNewContext('Math.random()'))",
		"a worker":         "new (require('worker_threads').Worker)('console.log(Math.random(), crypto.randomUUID())', { eval: true })",
		"a child":          "console.log(require('child_process').execFileSync(process.execPath, ['-p', 'Math.random()']).toString())",
		"randomUUID":       "console.log(crypto.randomUUID(), require('crypto').randomUUID({ disableEntropyCache: true }))",
		"randomBytes":      "console.log(require('crypto').randomBytes(16).toString('hex'))",
		"randomBytes late": "require('crypto').randomBytes(16, (e, b) => console.log(b.toString('hex')))",
		"randomInt":        "console.log(require('crypto').randomInt(2 ** 47))",
		"getRandomValues":  "console.log(crypto.getRandomValues(new Uint32Array(4)))",
		"a key":            "console.log(require('crypto').generateKeyPairSync('x25519').publicKey.export({ format: 'jwk' }).x)",
		"a prime":          "console.log(require('crypto').generatePrimeSync(128, { bigint: true }))",
		"mkdtemp":          "console.log(require('fs').mkdtempSync('/tmp/x'))",
		"boundary": "new Response(new FormData()).text().then(console.log, console.log); console.log(new " +
			"Response(new FormData()).headers.get('content-type'))",
		"sqlite": "console.log(new (require('node:sqlite').DatabaseSync)(':memory:').prepare('select " +
			"hex(randomblob(8)) a').get().a)",
		"shuffle":   "console.log([...Array(50).keys()].sort(() => Math.random() - 0.5).join())",
		"AT_RANDOM": "console.log(require('fs').readFileSync('/proc/self/auxv', 'hex'))",
		"stack":     "console.log(require('fs').readFileSync('/proc/self/maps', 'utf8').match(/.*stack.*/)[0])",
		"V8's new pages": "let x = new Array(1e6).fill(1.5); " +
			"console.log(require('fs').readFileSync('/proc/self/maps', 'utf8').split('\\n').map(l => l.split(' " +
			"')[0]).filter(l => /^[0-9a-f]{6,11}-/.test(l)).join())",
	},
	"java": {
		"Math.random":       "Math.random()",
		"Random":            "new Random().nextLong()",
		"ThreadLocalRandom": "java.util.concurrent.ThreadLocalRandom.current().nextLong()",
		"a thread's": "java.util.concurrent.CompletableFuture.supplyAsync(() -> " +
			"java.util.concurrent.ThreadLocalRandom.current().nextLong()).join()",
		"SplittableRandom": "new SplittableRandom().nextLong()",
		"generators": "java.util.random.RandomGenerator.getDefault().nextLong() + \" \" + " +
			"java.util.random.RandomGenerator.of(\"Xoshiro256PlusPlus\").nextLong()",
		"SecureRandom": "new java.security.SecureRandom().nextLong()",
		"a strong one": "java.security.SecureRandom.getInstanceStrong().nextLong()",
		"UUID":         "UUID.randomUUID()",
		"shuffle":      "shuffled()",
		"Set.of": "Set.of(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13) + \"\" + Map.of(1, 2, 3, 4, 5, 6, 7, " +
			"8, 9, 10, 11, 12, 13, 14, 15, 16)",
		"a temporary file": "java.io.File.createTempFile(\"temporary\", null)",
		"a key":            "HexFormat.of().formatHex(java.security.KeyPairGenerator.getInstance(\"X25519\").generateKeyPair().getPublic().getEncoded())",
		"AT_RANDOM":        "Arrays.toString(java.nio.file.Files.readAllBytes(java.nio.file.Path.of(\"/proc/self/auxv\")))",
		"stack":            "java.nio.file.Files.readAllLines(java.nio.file.Path.of(\"/proc/self/maps\")).stream().filter(l -> l.contains(\"[stack]\")).toList()",
	},
	"kotlin": {
		"Random":     "kotlin.random.Random.nextLong()",
		"shuffled":   "(1..30).shuffled()",
		"random":     "(1..1000000000).random()",
		"UUID":       "java.util.UUID.randomUUID()",
		"coroutines": "kotlinx.coroutines.runBlocking(kotlinx.coroutines.Dispatchers.Default) { kotlin.random.Random.nextLong() }",
	},
	"scala": {
		"Random":  "scala.util.Random.nextLong",
		"shuffle": "scala.util.Random.shuffle((1 to 30).toList)",
		"math":    "math.random",
		"UUID":    "java.util.UUID.randomUUID()",
	},
	"java-full": {"Random": "new Random().nextLong()", "UUID": "UUID.randomUUID()"},
	"javascript-full": {
		"Math.random": "console.log(Math.random())",
		"randomBytes": "console.log(require('crypto').randomBytes(8).toString('hex'))",
	},
	"lua": {
		"random":    "print(math.random(0), math.random(0))",
		"seed":      "print(math.randomseed())",
		"address":   "print({}, function() end, coroutine.create(print))",
		"tmpname":   "print(os.tmpname())",
		"order":     "local t = {} for i = 1, 50 do t[{}] = i end for _, v in pairs(t) do io.write(v, ' ') end",
		"AT_RANDOM": "print((io.open('/proc/self/auxv', 'rb'):read('a'):gsub('.', function(c) return c:byte() .. ' ' end)))",
		"heap":      "for l in io.lines('/proc/self/maps') do if l:match('heap') or l:match('stack') then print(l) end end",
	},
}

// imageOf returns the image of a language that brig has.
func imageOf(t *testing.T, language string) string {
	t.Helper()
	for _, l := range harness.BuiltinLanguages(t) {
		if l.Name == language {
			return l.Image
		}
	}
	t.Fatalf("brig has no language %s", language)
	return ""
}

// TPL-04. Two runs of one template share no randomness: each source is asked in two runs.
func TestTemplatesHaveFreshRandomness(t *testing.T) {
	a := harness.StartAgent(t)
	some := harness.NewShare(9)
	for _, language := range slices.Sorted(maps.Keys(randomSources)) {
		if !harness.Chosen(language, harness.LanguageTests[language].OnlyAll) {
			continue
		}

		harness.Images.Load(t, a, imageOf(t, language))

		for _, name := range slices.Sorted(maps.Keys(randomSources[language])) {
			source := randomSources[language][name]
			if some.LeavesOut(language) {
				continue
			}
			switch language {
			case "kotlin":
				source = "fun main() = println(" + source + ")\n"
			case "scala":
				source = "object Main { def main(args: Array[String]): Unit = println(" + source + ") }\n"
			case "java", "java-full":
				source = "import java.util.*;\nclass Main {\n    static List<Integer> shuffled() { var l = new " +
					"ArrayList<>(List.of(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16)); Collections.shuffle(l); return l; }\n" +
					"    public static void main(String[] args) throws Exception { System.out.println(" + source + "); }\n}\n"
			}

			t.Run(language+"/"+name, func(t *testing.T) {
				said := map[string]bool{} // Set.of has few orders: two runs in thirty have the same
				for i := 0; i < 6 && len(said) < 2; i++ {
					res := a.MustRun(t, api.Run{Language: language, Source: api.Bytes(source)})
					if res.Verdict != api.OK || !res.Host.Template {
						t.Fatalf("%s %s, %+v: %s%s", res.Verdict, res.SignalName, res.Host, res.Stdout, res.Stderr)
					}
					said[string(res.Stdout)] = true
				}
				if len(said) < 2 || said[""] {
					t.Errorf("six runs print the same: %v", said)
				}
			})
		}
	}
}

// A program that asks when it started gets the time of its run, and not that of the template.
func TestTemplatesStartNow(t *testing.T) {
	a := harness.StartAgent(t)
	// The templates are 10 s old in the second round. On a busy machine a start may take seconds.
	sources := map[string]string{
		"bash": "echo $((SECONDS > 8))",
		"php":  "<?php echo time() - $_SERVER['REQUEST_TIME'] > 8 ? 1 : 0, \"\\n\";",
		"perl": "print time - $^T > 8 ? 1 : 0, qq(\n)",
		"javascript": "console.log(process.uptime() > 8 || performance.now() > 8000 || " +
			"Math.abs(performance.timeOrigin + performance.now() - Date.now()) > 8000 ? 1 : 0)",
		"java": "class Main { public static void main(String[] a) { var r = " +
			"java.lang.management.ManagementFactory.getRuntimeMXBean(); System.out.println(r.getUptime() > 8000 || " +
			"Math.abs(System.currentTimeMillis() - r.getStartTime()) > 8000 ? 1 : 0); } }",
	}

	var made []int64
	for range 2 {
		for language, source := range sources {
			if !harness.Chosen(language, harness.LanguageTests[language].OnlyAll) {
				continue
			}
			harness.Images.Load(t, a, imageOf(t, language))
			if res := a.MustRun(t, api.Run{Language: language, Source: api.Bytes(source)}); string(res.Stdout) != "0\n" || !res.Host.Template {
				t.Errorf("%s: %+v: %s%s", language, res.Host, res.Stdout, res.Stderr)
			}
		}

		h, err := a.Health(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if made = append(made, int64(h.Templates.Made)); len(made) == 1 {
			time.Sleep(10 * time.Second)
		}
	}

	if made[0] != made[1] {
		t.Errorf("%d templates were made in the first round and %d in both: the second shows nothing", made[0], made[1])
	}
}
