// Loaded before libc by LD_PRELOAD into the java of an image: it writes a snapshot to BRIG_TEMPLATE when
// the launcher is about to load the main class, and exits. The virtual machine has started then, and no
// class of the program has been looked for.
//
// The launcher reads which class to run from the file of arguments @classes/.main before it starts the
// machine. So a process that executes the snapshot does what follows in the launcher here: it reads the
// file, loads the class and calls its main, as JavaMain of the launcher does (java.base,
// native/libjli/java.c).
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include "script.h"
#include "search.h"

// The functions of JNI that are used here, at their places in its tables (docs.oracle.com/en/java/javase/25/docs/specs/jni).
typedef void *object, *method, *field;
typedef const struct functions *env;
typedef const struct machine_functions *machine;
struct functions {
	void *before_6[6];
	object (*FindClass)(env *, const char *);
	void *before_15[8];
	object (*ExceptionOccurred)(env *);
	void (*ExceptionDescribe)(env *);
	void *before_28[11];
	object (*NewObject)(env *, object, method, ...);
	void *before_33[4];
	method (*GetMethodID)(env *, object, const char *, const char *);
	void *before_61[27];
	void (*CallVoidMethod)(env *, object, method, ...);
	void *before_113[51];
	method (*GetStaticMethodID)(env *, object, const char *, const char *);
	object (*CallStaticObjectMethod)(env *, object, method, ...);
	void *before_141[26];
	void (*CallStaticVoidMethod)(env *, object, method, ...);
	void *before_144[2];
	field (*GetStaticFieldID)(env *, object, const char *, const char *);
	void *before_146[1];
	u8 (*GetStaticBooleanField)(env *, object, field);
	void *before_155[8];
	void (*SetStaticBooleanField)(env *, object, field, u8);
	void *before_160[4];
	void (*SetStaticLongField)(env *, object, field, long);
	void *before_172[11];
	object (*NewObjectArray)(env *, int, object, object);
	void *before_174[1];
	void (*SetObjectArrayElement)(env *, object, int, object);
	void *before_176[1];
	object (*NewByteArray)(env *, int);
	void *before_208[31];
	void (*SetByteArrayRegion)(env *, object, int, int, const char *);
	void *before_219[10];
	int (*GetJavaVM)(env *, machine **);
};
struct machine_functions {
	void *before_3[3];
	int (*DestroyJavaVM)(machine *);
	void *before_5[1];
	int (*DetachCurrentThread)(machine *);
};
enum { TO_STDERR = 1, BY_CLASS = 1 }; // arguments of sun.launcher.LauncherHelper

typedef object find_class(env *, const char *);

static const char launcher[] = "sun/launcher/LauncherHelper";

// What the file of arguments says: options, the main class, and arguments before those of the command.
// The options are those of the template, for which the machine has started.
enum { MOST_WORDS = 64 };
struct words { char text[65536], *word[MOST_WORDS]; int n; };
static struct words words, of_template;
static int first; // the place of the main class
static int begun; // the process executes the snapshot

// Times that the machine has noted: ns of the monotonic clock, and ms of the wall clock. A run adds what
// has passed since they were found.
enum { MOST_TIMES = 64 };
static u64 *instant[MOST_TIMES], *wall[MOST_TIMES];
static int instants, walls;
static struct timespec began, began_wall, found, found_wall;

static u64 nanoseconds(const struct timespec *t) { return (u64)t->tv_sec * 1000000000 + (u64)t->tv_nsec; }

// What two small numbers of 32 bits next to each other could be, too: a time whose lower half is near 0, in
// ns of the monotonic clock, so once in four seconds. The upper half is a small number in the first weeks
// of a host. The machine has tables of such numbers.
enum { NEAR = 1 << 24 };
static int is_near(u64 lower) { return (unsigned)lower < NEAR || (unsigned)lower > -(unsigned)NEAR; }

static void read_clocks(struct timespec *monotonic, struct timespec *real)
{
	clock_gettime(CLOCK_MONOTONIC, monotonic);
	clock_gettime(CLOCK_REALTIME, real);
}

// note_start lets a template wait until no time of its start is one of these.
__attribute__((constructor)) static void note_start(void)
{
	enum { START = 1500000000 }; // starts on a busy machine take less, too; making a template again waits a minute
	read_clocks(&began, &began_wall);
	unsigned lower = (unsigned)nanoseconds(&began), left = -lower;
	if (!getenv("BRIG_TEMPLATE") || (left > START && !is_near(lower)))
		return;
	struct timespec wait = {0, lower < NEAR ? NEAR - lower : left + NEAR};
	nanosleep(&wait, NULL);
	read_clocks(&began, &began_wall);
}

// writable finds the data of the machine.
static int writable(struct dl_phdr_info *object, size_t size, void *to)
{
	struct range *data = to;
	(void)size;
	if (!strstr(object->dlpi_name, "/libjvm.so"))
		return 0;
	for (int i = 0; i < object->dlpi_phnum; i++)
		if (object->dlpi_phdr[i].p_type == PT_LOAD && object->dlpi_phdr[i].p_flags & PF_W)
			*data = (struct range){object->dlpi_addr + object->dlpi_phdr[i].p_vaddr, object->dlpi_addr + object->dlpi_phdr[i].p_vaddr + object->dlpi_phdr[i].p_memsz};
	return 1;
}

// find_times finds the numbers that are times between the start of the process and now: of ns in the data
// of the machine, of ms in all memory. It is very improbable that another number is; no address is.
static void find_times(void)
{
	struct range data = {0, 0};
	dl_iterate_phdr(writable, &data);
	read_clocks(&found, &found_wall);
	u64 start = nanoseconds(&began), end = nanoseconds(&found), wall_start = nanoseconds(&began_wall) / 1000000, wall_end = nanoseconds(&found_wall) / 1000000;
	if (start >> 32 != end >> 32 || is_near(start) || is_near(end))
		refuse("the time of the start could be two other numbers");
	search_unmapped(start, end);
	struct pages all = search_begin();
	for (int i = 0; i < all.n; i++)
		for (int k = 0; k < (int)WORDS; k++) {
			u64 *p = all.page[i].at + k;
			if (instants == MOST_TIMES || walls == MOST_TIMES)
				refuse("the machine has noted too many times");
			if ((u64)p >= data.start && (u64)p < data.end && *p >= start && *p <= end)
				instant[instants++] = p;
			else if (*p >= wall_start && *p <= wall_end)
				wall[walls++] = p;
		}
	search_end(all);
	if (!instants || !walls)
		refuse("the time of the start is not known");
}

// is_time reports whether a number is a time, in a unit of so many ns, between the start and some ms after
// the search. The machine's other threads ran on after the search: they may have used the memory of a
// number that nobody needed any more for something else, such as an address.
static int is_time(u64 number, const struct timespec *start, const struct timespec *search, u64 unit)
{
	enum { LATEST = 1000000000 }; // ns
	return number >= nanoseconds(start) / unit && number <= (nanoseconds(search) + LATEST) / unit;
}

static void set_times(void)
{
	struct timespec now, now_wall;
	read_clocks(&now, &now_wall);
	for (int i = 0; i < instants; i++)
		if (is_time(*instant[i], &began, &found, 1))
			*instant[i] += nanoseconds(&now) - nanoseconds(&found);
	for (int i = 0; i < walls; i++)
		if (is_time(*wall[i], &began_wall, &found_wall, 1000000))
			*wall[i] += nanoseconds(&now_wall) / 1000000 - nanoseconds(&found_wall) / 1000000;
}

// set_order draws the order in which Set.of and Map.of iterate. It does not decide where elements are.
static void set_order(env *e)
{
	object collections = (*e)->FindClass(e, "java/util/ImmutableCollections");
	field salt = (*e)->GetStaticFieldID(e, collections, "SALT32L", "J"), reverse = (*e)->GetStaticFieldID(e, collections, "REVERSE", "Z");
	u64 drawn;
	if (getrandom(&drawn, sizeof drawn, 0) != sizeof drawn)
		__builtin_trap();
	(*e)->SetStaticLongField(e, collections, salt, (long)(drawn & 0xffffffff));
	(*e)->SetStaticBooleanField(e, collections, reverse, drawn >> 32 & 1);
}

// read_words reads the file of arguments. It returns 0, or -1 if it is not what a compile stage writes.
static int read_words(struct words *to)
{
	int fd = open(script.argv[script.at] + 1, O_RDONLY | O_CLOEXEC);
	ssize_t n = read(fd, to->text, sizeof to->text - 1);
	close(fd);
	if (n <= 0 || n == (ssize_t)sizeof to->text - 1)
		return -1;
	for (char *next = to->text, *line; (line = strsep(&next, "\n")) && to->n < MOST_WORDS;)
		if (*line)
			to->word[to->n++] = line;
	return to->n == 0 || to->n == MOST_WORDS ? -1 : 0;
}

// check_words reads the file of this run. It must be as that of the template, except for the class and
// the program's arguments.
static int check_words(void)
{
	if (read_words(&words) || words.n <= first || words.word[first][0] == '-')
		return -1;
	for (int i = 0; i < first; i++)
		if (strcmp(words.word[i], of_template.word[i]))
			return -1;
	return 0;
}

// string makes a string of what an argument says in the encoding of the platform.
static object string(env *e, object helper, const char *text)
{
	int n = (int)strlen(text);
	object bytes = (*e)->NewByteArray(e, n);
	(*e)->SetByteArrayRegion(e, bytes, 0, n, text);
	return (*e)->CallStaticObjectMethod(e, helper, (*e)->GetStaticMethodID(e, helper, "makePlatformString", "(Z[B)Ljava/lang/String;"), TO_STDERR, bytes);
}

// set_command_line sets the property sun.java.command: the class and the arguments.
static void set_command_line(env *e, object helper)
{
	size_t size = 1;
	for (int i = first; i < words.n; i++)
		size += strlen(words.word[i]) + 1;
	for (int i = script.at + 1; i < script.argc; i++)
		size += strlen(script.argv[i]) + 1;
	char *text = malloc(size), *end = text;
	for (int i = first; i < words.n; i++)
		end += sprintf(end, i > first ? " %s" : "%s", words.word[i]);
	for (int i = script.at + 1; i < script.argc; i++)
		end += sprintf(end, " %s", script.argv[i]);
	object system = (*e)->FindClass(e, "java/lang/System");
	method set = (*e)->GetStaticMethodID(e, system, "setProperty", "(Ljava/lang/String;Ljava/lang/String;)Ljava/lang/String;");
	(*e)->CallStaticObjectMethod(e, system, set, string(e, helper, "sun.java.command"), string(e, helper, text));
	free(text);
}

// call_main loads the main class and calls its main. It returns the exit status: 1 with an exception.
static int call_main(env *e, object helper)
{
	int args = words.n - first - 1 + script.argc - script.at - 1, n = 0;
	method load = (*e)->GetStaticMethodID(e, helper, "checkAndLoadMain", "(ZILjava/lang/String;)Ljava/lang/Class;");
	object class = (*e)->CallStaticObjectMethod(e, helper, load, TO_STDERR, BY_CLASS, string(e, helper, words.word[first]));
	if (!class || (*e)->ExceptionOccurred(e)) {
		(*e)->ExceptionDescribe(e);
		return 1;
	}
	(*e)->CallStaticObjectMethod(e, helper, (*e)->GetStaticMethodID(e, helper, "getApplicationClass", "()Ljava/lang/Class;"));
	object array = (*e)->NewObjectArray(e, args, (*e)->FindClass(e, "java/lang/String"), NULL);
	for (int i = first + 1; i < words.n; i++)
		(*e)->SetObjectArrayElement(e, array, n++, string(e, helper, words.word[i]));
	for (int i = script.at + 1; i < script.argc; i++)
		(*e)->SetObjectArrayElement(e, array, n++, string(e, helper, script.argv[i]));
	if ((*e)->ExceptionOccurred(e)) {
		(*e)->ExceptionDescribe(e);
		return 1;
	}
	int is_static = (*e)->GetStaticBooleanField(e, helper, (*e)->GetStaticFieldID(e, helper, "isStaticMain", "Z"));
	int no_args = (*e)->GetStaticBooleanField(e, helper, (*e)->GetStaticFieldID(e, helper, "noArgMain", "Z"));
	const char *type = no_args ? "()V" : "([Ljava/lang/String;)V";
	if (is_static) {
		method start = (*e)->GetStaticMethodID(e, class, "main", type); // it initializes the class
		if (start)
			(*e)->CallStaticVoidMethod(e, class, start, array);
	} else {
		method make = (*e)->GetMethodID(e, class, "<init>", "()V");
		object made = make ? (*e)->NewObject(e, class, make) : NULL;
		method start = made && !(*e)->ExceptionOccurred(e) ? (*e)->GetMethodID(e, class, "main", type) : NULL;
		if (start)
			(*e)->CallVoidMethod(e, made, start, array);
	}
	return (*e)->ExceptionOccurred(e) != NULL;
}

// launch ends the process as the launcher does: the machine ends when all threads have ended that are no
// daemons.
static void launch(env *e, find_class *find)
{
	machine *vm;
	object helper = find(e, launcher);
	set_times();
	set_order(e);
	set_command_line(e, helper);
	int status = call_main(e, helper);
	(*e)->GetJavaVM(e, &vm);
	if ((*vm)->DetachCurrentThread(vm))
		status = 1;
	(*vm)->DestroyJavaVM(vm);
	exit(status);
}

// on_first_thread is a signal handler: the first thread of the process waits for the one that launches.
static void on_first_thread(int sig)
{
	(void)sig;
	script.threads = 1;
	script.check = check_words;
	script_write();
	__atomic_store_n(&begun, 1, __ATOMIC_RELEASE);
	syscall(SYS_futex, &begun, FUTEX_WAKE_PRIVATE, 1);
}

// In place of that of the virtual machine: the launcher finds its class by it when the machine has
// started.
EXPORTED object JVM_FindClassFromBootLoader(env *e, const char *name)
{
	static find_class *real;
	if (!real)
		real = (find_class *)dlsym(dlopen("libjvm.so", RTLD_NOW | RTLD_NOLOAD), "JVM_FindClassFromBootLoader");
	if (!script_waits() || strcmp(name, launcher))
		return real(e, name);
	if (read_words(&of_template))
		refuse("there is no file of arguments");
	first = of_template.n - 1;
	find_times();
	start_executable();
	struct sigaction handler = {.sa_handler = on_first_thread, .sa_flags = SA_RESTART};
	sigfillset(&handler.sa_mask);
	sigaction(SIGRTMAX, &handler, NULL);
	syscall(SYS_tgkill, getpid(), getpid(), SIGRTMAX);
	while (!__atomic_load_n(&begun, __ATOMIC_ACQUIRE))
		syscall(SYS_futex, &begun, FUTEX_WAIT_PRIVATE, 0, NULL);
	signal(SIGRTMAX, SIG_DFL);
	launch(e, real);
	return NULL;
}
