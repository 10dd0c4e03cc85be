#define ID "channel"
#include "probe.h"
// Two runs of one image that want to communicate: channel HOW send SALT START FRAME BITS, and
// channel HOW read SALT START FRAME COUNT, which prints what it read, a 0 or 1 for each bit. START
// is a time of CLOCK_REALTIME in ns, FRAME a duration in us, for the channels that need both to run
// at the same time. A refused call ends either with the call's name and errno.
#include <linux/futex.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/sysinfo.h>
#include <time.h>

enum { MOST = 2048 };
static char bits[MOST + 1];
static const char *salt;
static long start, frame, count;
static int sends;

static long now(int clock) { struct timespec t; clock_gettime(clock, &t); return t.tv_sec * 1000000000L + t.tv_nsec; }
static void until(long at) { long left; while ((left = at - now(CLOCK_REALTIME)) > 0) { struct timespec t = {left / 1000000000L, left % 1000000000L}; nanosleep(&t, 0); } }
static void part(long i, double at) { until(start + (long)((i + at) * frame * 1000)); }
static long need(const char *call, long r) { if (r < 0) { printf("refused %s %s\n", call, strerrorname_np(errno)); exit(0); } return r; }
static int order(const void *a, const void *b) { long x = *(long *)a, y = *(long *)b; return (x > y) - (x < y); }
static long middle(long *v, int n) { qsort(v, n, sizeof *v, order); return v[n / 2]; }
static void set(long i, int one) { bits[i] = one ? '1' : '0'; }
static int one(long i) { return bits[i] == '1'; }

// Looks up names that do not exist in a directory of the image: the kernel may cache that they do
// not exist.
static long missing(int dir, const char *what, long i, int k) { char name[100]; struct stat st; snprintf(name, sizeof name, "%s-%s-%ld-%d", what, salt, i, k); long t = now(CLOCK_MONOTONIC); fstatat(dir, name, &st, 0); return now(CLOCK_MONOTONIC) - t; }
static void dentry(void) {
	enum { EACH = 3, TRIES = 41 }; int dir = need("open", open("/bin", O_RDONLY | O_DIRECTORY)); long first[TRIES], again[TRIES]; const char *own = sends ? "sender" : "reader";
	for (int i = 0; i < TRIES; i++) { first[i] = missing(dir, own, i, 0); again[i] = missing(dir, own, i, 0); }
	long both = middle(first, TRIES) * middle(again, TRIES), most = 1;
	while (most * most < both) most++; // between the two classes, if there are two
	for (long i = 0; i < count; i++) {
		int seen = 0;
		if (sends && !one(i)) continue;
		for (int k = 0; k < EACH; k++) seen += missing(dir, "bit", i, k) < most;
		if (!sends) set(i, seen * 2 > EACH);
	}
}

// The first page of files that no process has read before.
static int cold(long i) { char name[40]; snprintf(name, sizeof name, "/cold/%ld", i); return need("open", open(name, O_RDONLY)); }
static long touch(int f) { char b; long t = now(CLOCK_MONOTONIC); need("pread", pread(f, &b, 1, 0)); return now(CLOCK_MONOTONIC) - t; }
static void page(void) {
	long again[41]; int own = cold(count); touch(own);
	for (int i = 0; i < 41; i++) again[i] = touch(own);
	long most = 6 * middle(again, 41);
	for (long i = 0; i < count; i++) { if (sends && !one(i)) continue; int f = cold(i); long t = touch(f); if (!sends) set(i, t < most); close(f); }
}

// Locks of files that both can open: whole files, or bytes of one.
enum { FILES = 24 }; // a run holds few on shared files (CPU-44)
static void flocks(const char **names, int files) {
	int f[FILES];
	for (int i = 0; i < files; i++) f[i] = names ? need("open", open(names[i], O_RDONLY)) : cold(i);
	for (long i = 0, at = 0; at < count; i++, at += files) {
		part(i, sends ? 0 : 0.5);
		for (int k = 0; k < files && at + k < count; k++) {
			int r = flock(f[k], sends && !one(at + k) ? LOCK_UN : LOCK_EX | LOCK_NB);
			if (r < 0 && errno != EWOULDBLOCK) need("flock", r); // sometimes both try at once
			if (!sends) { set(at + k, r < 0); flock(f[k], LOCK_UN); }
		}
	}
	part((count + files - 1) / files, 0);
}
static void whole(void) { flocks(0, FILES); }
static void device(void) { static const char *names[] = {"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"}; flocks(names, 5); }
static void record(void) {
	int f = cold(0); part(0, sends ? 0 : 0.5);
	for (long i = 0; i < count; i++) {
		struct flock l = {.l_type = sends ? F_RDLCK : F_WRLCK, .l_start = i, .l_len = 1};
		if (sends && !one(i)) continue;
		need("fcntl", fcntl(f, sends ? F_SETLK : F_GETLK, &l));
		if (!sends) set(i, l.l_type != F_UNLCK);
	}
	part(1, 0);
}

// A futex that is not private belongs to the page of the file, also in a private mapping that can only be
// read: a thread that waits is woken by any process that maps the page. The kernel wakes one when a thread
// ends whose set_tid_address is there, also if the tier refuses FUTEX_WAKE, although it cannot write there.
static void *ends(void *p) { need("set_tid_address", syscall(SYS_set_tid_address, p)); syscall(SYS_exit, 0); return 0; }
static void futexes(void) {
	int f = cold(0), *p, calls = 0; pthread_t t; touch(f); p = mmap(0, 4096, PROT_READ, MAP_PRIVATE, f, 0); need("mmap", p == MAP_FAILED ? -1 : 0);
	if (sends) calls = syscall(SYS_futex, p, FUTEX_WAKE, 0, 0, 0, 0) >= 0;
	for (long i = 0; i < count; i++) {
		part(i, sends ? 0.4 : 0.1);
		if (sends && calls && one(i)) syscall(SYS_futex, p, FUTEX_WAKE, 100, 0, 0, 0);
		else if (sends && one(i)) errno = pthread_create(&t, 0, ends, p), need("clone", -!!errno);
		if (sends) continue;
		long to = start + (long)((i + 0.9) * frame * 1000); struct timespec end = {to / 1000000000L, to % 1000000000L};
		long r = syscall(SYS_futex, p, FUTEX_WAIT_BITSET | FUTEX_CLOCK_REALTIME, *p, &end, 0, -1);
		if (r && errno != ETIMEDOUT) need("futex", r);
		set(i, !r);
	}
	part(count, 0);
}

// Pages of a file that both map. The kernel divides the size of each page by the number of its mappings
// (Pss). Each page is an area of its own: its neighbours in memory are not its neighbours in the file.
static void mapped(void) {
	static char text[4 << 20]; long len = 0, n; volatile char sum = 0; unsigned long from, to; int area = -1, kib[MOST], most = 0, f = need("open", open("/pages", O_RDONLY));
	char *base = mmap(0, count * 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); need("mmap", base == MAP_FAILED ? -1 : 0);
	part(0, 0);
	for (long i = 0; i < count; i++) {
		if (sends && !one(i)) continue;
		char *p = mmap(base + i * 4096, 4096, PROT_READ, MAP_SHARED | MAP_FIXED, f, (count - 1 - i) * 4096); need("mmap", p == MAP_FAILED ? -1 : 0); sum += *p;
	}
	part(0, sends ? 1 : 0.5);
	if (sends) return;
	f = need("open", open("/proc/self/smaps", O_RDONLY)); memset(kib, 0, sizeof kib);
	while ((n = need("read", read(f, text + len, sizeof text - 1 - len))) > 0) len += n;
	for (char *line = strtok(text, "\n"); line; line = strtok(0, "\n")) {
		if (sscanf(line, "%lx-%lx ", &from, &to) == 2) area = (char *)from >= base && (char *)to <= base + count * 4096 ? (from - (unsigned long)base) / 4096 : -1;
		else if (area >= 0 && sscanf(line, "Pss: %d", &kib[area]) == 1 && kib[area] > most) most = kib[area];
	}
	for (long i = 0; i < count; i++) set(i, kib[i] < most);
}

// Files that were read more than once: the kernel moves their pages to its list of active pages, and
// numa_maps has how many pages of an area are there, also long after.
static void active(void) {
	char line[400], *at; long i; volatile char sum = 0; FILE *f;
	for (i = 0; i < count; i++) {
		if (sends) { for (int k = 0; k < 3 && one(i); k++) { int f = cold(i); touch(f); close(f); } continue; }
		int c = cold(i); char *p = mmap(0, 4096, PROT_READ, MAP_SHARED, c, 0); need("mmap", p == MAP_FAILED ? -1 : 0); sum += *p; close(c);
	}
	if (sends) return;
	memset(bits, '0', count); f = fopen("/proc/self/numa_maps", "r"); need("open", f ? 0 : -1);
	while (fgets(line, sizeof line, f)) if ((at = strstr(line, "file=/cold/")) && (i = atol(at + 11)) >= 0 && i < count) set(i, !strstr(line, "active=0"));
}

// Which files of the image are opened, as seen by a watch of their directory.
static void watch(void) {
	char b[65536]; int w = 0;
	if (sends) { part(0, 0.3); for (long i = 0; i < count; i++) if (one(i)) close(cold(i)); return; }
	w = need("inotify_init1", inotify_init1(IN_NONBLOCK)); need("inotify_add_watch", inotify_add_watch(w, "/cold", IN_OPEN));
	memset(bits, '0', count); part(0, 0.9);
	for (long n; (n = read(w, b, sizeof b)) > 0;) for (char *p = b; p < b + n; p += sizeof(struct inotify_event) + ((struct inotify_event *)p)->len) {
		struct inotify_event *e = (void *)p; long i = e->len ? atol(e->name) : -1; if (i >= 0 && i < count) bits[i] = '1'; }
}

// The host's shared memory as reported by sysinfo: more in one half of a frame than in the other.
static void shared(void) {
	size_t size = 8 << 20, o; char *p = MAP_FAILED; struct sysinfo s;
	for (long i = 0; i < count; i++) {
		if (!sends) { part(i, 0.4); need("sysinfo", sysinfo(&s)); long a = s.sharedram; part(i, 0.9); sysinfo(&s); set(i, a > (long)s.sharedram); continue; }
		for (int half = 0; half < 2; half++) {
			part(i, half * 0.5);
			if (half == !one(i) && p != MAP_FAILED) continue; // unchanged since the previous bit
			if (half == !one(i)) { p = mmap(0, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0); need("mmap", p == MAP_FAILED ? -1 : 0); for (o = 0; o < size; o += 4096) p[o] = 1; }
			else if (p != MAP_FAILED) { munmap(p, size); p = MAP_FAILED; }
		}
	}
	part(count, 0);
}

// The kernel numbers pipes of all runs from one counter, from which each processor takes 1024
// numbers at once.
static unsigned number(void) { int p[2]; struct stat st; need("pipe2", pipe2(p, O_CLOEXEC)); need("fstat", fstat(p[0], &st)); close(p[0]); close(p[1]); return (unsigned)st.st_ino; }
static unsigned batch(void) { unsigned last = number(), n; for (int i = 0; i < 1100; i++, last = n) if ((n = number()) != last + 1) return n; return last; }
static void numbers(void) {
	unsigned last = 0, n;
	if (!sends) { part(0, -0.5); last = batch(); }
	for (long i = 0; i < count; i++) {
		part(i, sends ? 0 : 0.6);
		if (sends) { if (one(i)) for (int k = 0; k < 6144; k++) number(); continue; }
		n = batch(); set(i, n - last > 5 * 1024); last = n;
	}
	part(count, 0);
}

// The same counter for runs that do not overlap: the sender leaves it at one of 16 remainders.
static void counter(void) {
	unsigned want = 0, at = batch() >> 10;
	if (count != 4) exit(2);
	for (int k = 0; k < 4; k++) want |= one(k) << k;
	if (sends) while ((at & 15) != want) at = batch() >> 10;
	else for (int k = 0; k < 4; k++) set(k, (at - 1) >> k & 1);
}

// The kernel numbers the sessions of the whole host, and each process can read the number of its
// own.
static long session(void) { // creates one, in a child, and returns its number
	int p[2]; char b[64] = ""; need("pipe2", pipe2(p, O_CLOEXEC));
	pid_t child = need("clone", fork());
	if (!child) { int f; setsid(); f = open("/proc/self/autogroup", O_RDONLY); long n = f < 0 ? -1 : read(f, b, sizeof b); if (n > 0) n = write(p[1], b, n); _exit(n <= 0); }
	close(p[1]); if (read(p[0], b, sizeof b - 1) <= 0) errno = ENOENT, need("autogroup", -1);
	close(p[0]); waitpid(child, 0, 0);
	return strncmp(b, "/autogroup-", 11) ? need("autogroup", -1) : atol(b + 11);
}
static void sessions(void) {
	long last = 0, n;
	if (!sends) { part(0, -0.2); last = session(); }
	for (long i = 0; i < count; i++) {
		part(i, sends ? 0 : 0.8);
		if (sends) { if (one(i)) for (int k = 0; k < 40; k++) session(); continue; }
		n = session(); set(i, n - last > 25); last = n;
	}
	part(count, 0);
}

// The next eventfd gets the lowest number that no eventfd of the host has, and its fdinfo shows it.
static long eventnumber(void) {
	char name[60], b[400] = ""; int e = need("eventfd2", eventfd(0, EFD_CLOEXEC)), f;
	snprintf(name, sizeof name, "/proc/self/fdinfo/%d", e); f = need("open", open(name, O_RDONLY)); need("read", read(f, b, sizeof b - 1)); close(f); close(e);
	char *at = strstr(b, "eventfd-id:"); return at ? atol(at + 11) : (errno = ENOENT, need("eventfd-id", -1));
}
static void events(void) {
	enum { HOLD = 120 }; int held[HOLD], holds = 0; long least = eventnumber();
	for (long i = 0; i < count; i++) {
		part(i, sends ? 0 : 0.6);
		if (!sends) { set(i, eventnumber() > least + HOLD / 2); continue; }
		if (one(i)) for (; holds < HOLD; holds++) held[holds] = need("eventfd2", eventfd(0, EFD_CLOEXEC));
		else while (holds > 0) close(held[--holds]);
	}
	part(count, 0);
}

int main(int c, char **v) {
	static const struct { const char *name; void (*go)(void); } all[] = {{"dentry", dentry}, {"page", page}, {"flock", whole}, {"flock-dev", device}, {"record", record}, {"watch", watch}, {"futex", futexes}, {"mapped", mapped}, {"active", active}, {"shared", shared}, {"numbers", numbers}, {"counter", counter}, {"sessions", sessions}, {"events", events}};
	if (c < 7) return 2;
	sends = !strcmp(v[2], "send"); salt = v[3]; start = atol(v[4]); frame = atol(v[5]);
	count = sends ? (long)strlen(v[6]) : atol(v[6]);
	if (count > MOST) return 2;
	if (sends) memcpy(bits, v[6], count);
	for (unsigned i = 0; i < sizeof all / sizeof *all; i++) if (!strcmp(v[1], all[i].name)) { all[i].go(); puts(sends ? "sent" : bits); return 0; }
	return 2;
}
