// Loaded before libc by LD_PRELOAD into the node of an image: it writes a snapshot to BRIG_TEMPLATE when
// node is about to look at its script, and exits. Node's own modules have started then, and none of the
// program's has been looked for. A process that executes the snapshot looks at its own script at this
// point, and all that follows is the ordinary start.
//
// The threads of V8 and of node are in the snapshot, and wait. What node has noted of its process until
// then is set in each run: arguments, time, and the state of its random numbers.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdarg.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include "script.h"
#include "search.h"

// Functions and variables that node 24 exports: libuv's, OpenSSL's, and those of C++ by their linker
// names. A v8::Local is a pointer to a slot, and is passed and returned as one.
typedef void isolate, environment, loop, **local;
struct handle_scope { void *fields[3]; };
char **uv_setup_args(int argc, char **argv);
loop *uv_default_loop(void);
void uv_update_time(loop *);
u64 uv_now(const loop *);
int RAND_poll(void);
isolate *current_isolate(void) __asm__("_ZN2v87Isolate10GetCurrentEv");
local current_context(isolate *) __asm__("_ZN2v87Isolate17GetCurrentContextEv");
void scope_begin(struct handle_scope *, isolate *) __asm__("_ZN2v811HandleScopeC1EPNS_7IsolateE");
void scope_end(struct handle_scope *) __asm__("_ZN2v811HandleScopeD1Ev");
local new_string(isolate *, const char *, int internalized, int length) __asm__("_ZN2v86String11NewFromUtf8EPNS_7IsolateEPKcNS_13NewStringTypeEi");
local new_integer(isolate *, int) __asm__("_ZN2v87Integer3NewEPNS_7IsolateEi");
local new_object(isolate *) __asm__("_ZN2v86Object3NewEPNS_7IsolateE");
int identity_hash(local object) __asm__("_ZN2v86Object15GetIdentityHashEv");
local global(local context) __asm__("_ZN2v87Context6GlobalEv");
local get(local object, local context, local name) __asm__("_ZN2v86Object3GetENS_5LocalINS_7ContextEEENS1_INS_5ValueEEE");
short set_at(local object, local context, u32 index, local value) __asm__("_ZN2v86Object3SetENS_5LocalINS_7ContextEEEjNS1_INS_5ValueEEE");
short define(local object, local context, local name, local value, int attributes)
	__asm__("_ZN2v86Object17DefineOwnPropertyENS_5LocalINS_7ContextEEENS1_INS_4NameEEENS1_INS_5ValueEEENS_17PropertyAttributeE");
void set_seed(void *generator, long seed) __asm__("_ZN2v84base21RandomNumberGenerator7SetSeedEl");
void set_mmap_seed(long seed) __asm__("_ZN2v84base2OS17SetRandomMmapSeedEl");
local call(local function, isolate *, local context, local receiver, int argc, local *argv)
	__asm__("_ZN2v88Function4CallEPNS_7IsolateENS_5LocalINS_7ContextEEENS3_INS_5ValueEEEiPS7_");
environment *current_environment(isolate *) __asm__("_ZN4node11Environment10GetCurrentEPN2v87IsolateE");
u64 loop_time(environment *) __asm__("_ZN4node11Environment12GetNowUint64Ev"); // in ms since the start
extern u64 process_start __asm__("_ZN4node11performance25performance_process_startE");                  // ns
extern u64 node_start __asm__("_ZN4node11per_process15node_start_timeE"), v8_start __asm__("_ZN4node11performance20performance_v8_startE");
extern double process_start_wall __asm__("_ZN4node11performance35performance_process_start_timestampE"); // us

enum { MOST_TIMES = 256 };


// What a run sets: the generator of random numbers, and times.
static u64 *generator;
static u64 *instant[MOST_TIMES]; // ns of the monotonic clock
static double *instant_double[MOST_TIMES], *wall[MOST_TIMES];
static int instants, instant_doubles, walls;
static u64 *timer_base;             // ms of the monotonic clock
static struct timespec written_at, written_at_wall;
static int written_pid;

// load_net loads the module of node that process.stdout and process.stderr need for a pipe, as the first
// output of each program does.
static void load_net(isolate *v8)
{
	local context = current_context(v8), process = get(global(context), context, new_string(v8, "process", 1, -1));
	local load = get(process, context, new_string(v8, "getBuiltinModule", 1, -1)), name = new_string(v8, "net", 1, -1);
	if (!load || !call(load, v8, context, process, 1, &name))
		refuse("node has no module net");
}

// find_generator finds the state of V8's random numbers (base::RandomNumberGenerator: the seed, and two
// words). It has V8 draw a number: the words are where two have made a step of xorshift128+ together.
static void find_generator(struct pages p, local object)
{
	identity_hash(object);
	for (int i = 0; i < p.n; i++)
		for (int k = 0; k < (int)WORDS && search_words(p, i, k) > 1; k++) {
			const u64 *new = p.page[i].at + k;
			u64 old = search_copy(p, i, k), next = search_copy(p, i, k + 1);
			if (new[0] == old || new[0] != next)
				continue;
			u64 s = old;
			s ^= s << 23;
			s ^= s >> 17;
			s ^= next ^ next >> 26;
			if (new[1] != s)
				continue;
			if (generator)
				refuse("there are two generators of random numbers");
			generator = p.page[i].at + k - 1; // the seed is before them
		}
	if (!generator)
		refuse("the generator of random numbers is not known");
}

static u64 nanoseconds(const struct timespec *t) { return (u64)t->tv_sec * 1000000000 + (u64)t->tv_nsec; }

// find_times finds the times that node has noted at its start, by their values: each has been taken in
// ns or us, so no other number is the same by chance. After those of the start come other milestones of
// it (node_perf_common.h).
static void find_times(struct pages all)
{
	enum { MILESTONES = 8 }; // with the two of the start
	double now = (double)nanoseconds(&written_at), start = (double)process_start;
	for (int i = 0; i < all.n; i++)
		for (int k = 0; k < (int)WORDS; k++) {
			u64 *p = all.page[i].at + k;
			double *d = (double *)p;
			if (instants == MOST_TIMES || walls == MOST_TIMES || instant_doubles + MILESTONES > MOST_TIMES)
				refuse("node has noted too many times");
			if (*p == process_start || *p == node_start || *p == v8_start)
				instant[instants++] = p;
			if (*d != process_start_wall)
				continue;
			wall[walls++] = d;
			for (int m = 1; m < MILESTONES && m < search_words(all, i, k); m++)
				if (d[m] >= start && d[m] <= now)
					instant_double[instant_doubles++] = d + m;
		}
	if (!walls || !instant_doubles)
		refuse("the time of the start is not known");
}

// find_timer_base finds the time from which node's timers count: it is in the environment.
static void find_timer_base(environment *env)
{
	u64 since = loop_time(env), base = uv_now(uv_default_loop()) - since, size = malloc_usable_size(env);
	for (u64 *p = env; p < (u64 *)env + size / sizeof *p; p++) {
		if (*p != base)
			continue;
		if (timer_base)
			refuse("the time of timers is not known");
		timer_base = p;
	}
	if (!timer_base)
		refuse("the time of timers is not known");
	*timer_base -= 1000;
	u64 moved = loop_time(env);
	*timer_base += 1000;
	if (moved < since + 1000 || moved > since + 1500)
		refuse("the time of timers is not known");
}

static void set_times(void)
{
	struct timespec now, now_wall;
	clock_gettime(CLOCK_MONOTONIC, &now);
	clock_gettime(CLOCK_REALTIME, &now_wall);
	u64 passed = nanoseconds(&now) - nanoseconds(&written_at), base = passed / 1000000;
	double passed_wall = ((double)nanoseconds(&now_wall) - (double)nanoseconds(&written_at_wall)) / 1e3;
	for (int i = 0; i < instants; i++)
		*instant[i] += passed;
	for (int i = 0; i < instant_doubles; i++)
		*instant_double[i] += (double)passed;
	for (int i = 0; i < walls; i++)
		*wall[i] += passed_wall;
	*timer_base += base;
	uv_update_time(uv_default_loop());
}

static void set_random(void)
{
	long seed[2];
	if (getrandom(seed, sizeof seed, 0) != sizeof seed || RAND_poll() != 1)
		__builtin_trap();
	set_seed(generator, seed[0]);
	set_mmap_seed(seed[1] | 1); // 0 would mean that there is none
}

// set_arguments sets process.argv and process.pid, which node has made already. argv[0] and the script
// are the same.
static void set_arguments(isolate *v8)
{
	struct handle_scope scope;
	uv_setup_args(script.argc, script.argv);
	scope_begin(&scope, v8);
	local context = current_context(v8), process = get(global(context), context, new_string(v8, "process", 1, -1));
	local argv = get(process, context, new_string(v8, "argv", 1, -1));
	for (int i = script.at + 1; i < script.argc; i++)
		set_at(argv, context, (u32)(i - script.at + 1), new_string(v8, script.argv[i], 0, -1));
	enum { READ_ONLY = 1 };
	if (getpid() != written_pid)
		define(process, context, new_string(v8, "pid", 1, -1), new_integer(v8, getpid()), READ_ONLY);
	scope_end(&scope);
}

// set_limits does what node does at its start: it uses as many descriptors as it may, and its children
// do not inherit its standard ones.
static void set_limits(void)
{
	struct rlimit files;
	if (!getrlimit(RLIMIT_NOFILE, &files) && files.rlim_cur != files.rlim_max) {
		files.rlim_cur = files.rlim_max;
		setrlimit(RLIMIT_NOFILE, &files);
	}
	for (int fd = 0; fd < 3; fd++)
		fcntl(fd, F_SETFD, FD_CLOEXEC);
}

static void at_script(void)
{
	isolate *v8 = current_isolate();
	struct handle_scope scope;
	clock_gettime(CLOCK_MONOTONIC, &written_at); // the searches are no part of node's start
	clock_gettime(CLOCK_REALTIME, &written_at_wall);
	scope_begin(&scope, v8);
	load_net(v8);
	local object = new_object(v8);
	struct pages all = search_begin();
	find_generator(all, object);
	find_times(all);
	search_end(all);
	scope_end(&scope);
	find_timer_base(current_environment(v8));
	written_pid = getpid();
	start_executable();
	script.threads = 1;
	script_write();
	// In each run.
	set_times();
	set_random();
	set_limits();
	set_arguments(v8);
}

// In place of the C library's, by which libuv calls statx.
EXPORTED long syscall(long number, ...)
{
	va_list more;
	va_start(more, number);
	long a = va_arg(more, long), b = va_arg(more, long), c = va_arg(more, long), d = va_arg(more, long), e = va_arg(more, long), f = va_arg(more, long);
	va_end(more);
	if (number == SYS_statx && b && script_reached((const char *)b))
		at_script();
	long ret = sys6(number, a, b, c, d, e, f);
	if (ret < 0 && ret > -PAGE) {
		errno = (int)-ret;
		return -1;
	}
	return ret;
}
