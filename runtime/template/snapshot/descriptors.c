// What the kernel says of descriptors is in /proc/self/fd and /proc/self/fdinfo
// (Documentation/filesystems/proc.rst, 3.8).
#include <asm/stat.h>
#include <linux/eventpoll.h>
#include <linux/fcntl.h>
#include "descriptors.h"
#include "snapshot.h"

enum { MOST = 512, MOST_WATCHED = 16, MOST_HELD = 256, MOST_PATH = 256 };

struct descriptor {
	enum { NONE, EVENTFD, EPOLL, PIPE_READ, PIPE_WRITE, IMAGE_FILE, STANDARD } kind;
	u32 flags;      // as open(2) has them
	u64 count;      // of an eventfd; the position in a file; the number of STANDARD
	char path[MOST_PATH]; // of IMAGE_FILE
	u64 pipe;       // its inode
	char held[MOST_HELD]; // what is in the pipe; of PIPE_READ
	long holds;
	struct { u32 fd, events; u64 data; } watched[MOST_WATCHED]; // of EPOLL
	int watches;
};

static struct descriptor noted[MOST];

static char *append(char *to, const char *text)
{
	while (*text)
		*to++ = *text++;
	*to = 0;
	return to;
}

static void path_of(char *to, const char *directory, int fd)
{
	char digits[4] = {(char)('0' + fd / 100), (char)('0' + fd / 10 % 10), (char)('0' + fd % 10), 0};
	append(append(to, directory), fd < 10 ? digits + 2 : fd < 100 ? digits + 1 : digits);
}

// after returns what follows word in text; null: it is not there.
static const char *after(const char *text, const char *word)
{
	for (; *text; text++) {
		const char *a = text, *b = word;
		while (*b && *a == *b)
			a++, b++;
		if (!*b)
			return a;
	}
	return 0;
}

static int equal(const char *a, const char *b)
{
	while (*a && *a == *b)
		a++, b++;
	return *a == *b;
}

// number reads a number after spaces.
static u64 number(const char *p, u32 base)
{
	u64 v = 0;
	while (*p == ' ' || *p == '\t')
		p++;
	for (;; p++) {
		u32 digit = *p >= '0' && *p <= '9' ? (u32)(*p - '0') : *p >= 'a' && *p <= 'f' ? (u32)(*p - 'a' + 10) : base;
		if (digit >= base)
			return v;
		v = v * base + digit;
	}
}

static const char *note_epoll(struct descriptor *d, const char *info)
{
	for (; (info = after(info, "tfd:")); d->watches++) {
		const char *events = after(info, "events:"), *data = after(info, "data:");
		if (d->watches == MOST_WATCHED || !events || !data)
			return "an epoll instance watches too many descriptors";
		d->watched[d->watches].fd = (u32)number(info, 10);
		d->watched[d->watches].events = (u32)number(events, 16);
		d->watched[d->watches].data = number(data, 16);
	}
	return 0;
}

// note_pipe reads what is in a pipe. This process does not need it any more.
static const char *note_pipe(int fd, struct descriptor *d, const char *inode)
{
	d->pipe = number(inode, 10);
	d->kind = (d->flags & O_ACCMODE) == O_RDONLY ? PIPE_READ : PIPE_WRITE;
	if (d->flags & O_DIRECT)
		return "a pipe of the interpreter carries packets";
	if (d->kind == PIPE_WRITE)
		return 0;
	SYS(fcntl, fd, F_SETFL, d->flags | O_NONBLOCK);
	long n = SYS(read, fd, d->held, sizeof d->held);
	d->holds = n > 0 ? n : 0;
	return n == (long)sizeof d->held ? "a pipe of the interpreter holds too much" : 0;
}

// is_device reports whether a file is a device without a state, which each run has.
static int is_device(const char *link)
{
	const char *name = after(link, "/dev/");
	if (name != link + 5)
		return 0;
	return equal(name, "null") || equal(name, "random") || equal(name, "urandom");
}

// note_standard notes a duplicate of a standard descriptor, which is then one of the run's. It reports whether it is one.
static int note_standard(struct descriptor *d, int fd)
{
	struct stat of, other;
	if (SYS(fstat, fd, &of))
		return 0;
	for (int std = 0; std < 3; std++) {
		if (SYS(fstat, std, &other) || other.st_dev != of.st_dev || other.st_ino != of.st_ino ||
		    (((u64)SYS(fcntl, std, F_GETFL) ^ d->flags) & O_ACCMODE))
			continue;
		d->kind = STANDARD;
		d->count = (u64)std;
		return 1;
	}
	return 0;
}

// note_file notes a file that is read. It must be one of the image: what is below /usr cannot change.
static const char *note_file(struct descriptor *d, const char *link, const char *info)
{
	const char *position = after(info, "pos:");
	if (!position || (!is_device(link) && ((d->flags & O_ACCMODE) != O_RDONLY || after(link, "/usr/") != link + 5)))
		return "the interpreter has open files";
	d->kind = IMAGE_FILE;
	d->count = number(position, 10);
	append(d->path, link);
	return 0;
}

int descriptors_end(void)
{
	u64 limit[2];
	return SYS(prlimit64, 0, 7 /* RLIMIT_NOFILE */, 0, limit) || limit[0] > 1 << 20 ? 1 << 20 : (int)limit[0];
}

// note_pairs checks that each pipe has two ends here, the one to read first: so make_pipe makes it once, and
// RESTORE_FD is taken last.
static const char *note_pairs(void)
{
	for (int fd = 3; fd < MOST; fd++) {
		int readers = 0, writers = 0;
		if (noted[fd].kind != PIPE_READ && noted[fd].kind != PIPE_WRITE)
			continue;
		for (int other = 3; other < MOST; other++) {
			readers += noted[other].kind == PIPE_READ && noted[other].pipe == noted[fd].pipe && other <= fd;
			writers += noted[other].kind == PIPE_WRITE && noted[other].pipe == noted[fd].pipe && other >= fd;
		}
		if (readers != 1 || writers != 1)
			return "a pipe of the interpreter does not have its two ends in order";
	}
	return 0;
}

const char *descriptors_note(void)
{
	for (int fd = 3, end = descriptors_end(); fd < end; fd++) {
		char path[40], link[MOST_PATH], info[4096];
		struct descriptor *d = &noted[fd];
		if (SYS(fcntl, fd, F_GETFD) < 0)
			continue;
		if (fd >= MOST)
			return "the interpreter has a descriptor with a high number";
		path_of(path, "/proc/self/fd/", fd);
		long n = SYS(readlinkat, AT_FDCWD, path, link, sizeof link - 1);
		path_of(path, "/proc/self/fdinfo/", fd);
		long file = SYS(openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
		long size = SYS(read, file, info, sizeof info - 1);
		SYS(close, file);
		if (n <= 0 || size <= 0 || size == (long)sizeof info - 1)
			return "the descriptors of the interpreter cannot be read";
		link[n] = info[size] = 0;
		const char *flags = after(info, "flags:"), *count = after(info, "eventfd-count:"), *pipe = after(link, "pipe:["), *missing = 0;
		d->flags = (u32)number(flags, 8);
		if (note_standard(d, fd))
			continue;
		if (pipe)
			missing = note_pipe(fd, d, pipe);
		else if (after(link, "[eventpoll]")) {
			d->kind = EPOLL;
			missing = note_epoll(d, info);
		} else if (count) {
			const char *semaphore = after(info, "eventfd-semaphore:"); // since Linux 6.5
			d->kind = EVENTFD;
			if (semaphore && number(semaphore, 10))
				missing = "an eventfd of the interpreter is a semaphore";
			d->count = number(count, 16);
		} else
			missing = note_file(d, link, info);
		if (missing)
			return missing;
	}
	return note_pairs();
}

// place gives a new descriptor its number. RESTORE_FD is placed last: the template has that number.
static int place(long fd, int at, u32 flags)
{
	enum { CLOEXEC = 1 }; // FD_CLOEXEC
	if (fd < 0)
		return -1;
	if (fd == at)
		return SYS(fcntl, fd, F_SETFD, flags & O_CLOEXEC ? CLOEXEC : 0) < 0 ? -1 : 0;
	long placed = SYS(dup3, fd, at, flags & O_CLOEXEC);
	SYS(close, fd);
	return placed < 0 ? -1 : 0;
}

// make_pipe makes a pipe and its other end.
static int make_pipe(int at, const struct descriptor *d)
{
	int ends[2], other;
	for (other = 3; other < MOST; other++)
		if (noted[other].kind == PIPE_WRITE && noted[other].pipe == d->pipe)
			break;
	if (other == MOST || SYS(pipe2, ends, O_CLOEXEC)) // place sets it as each end had it
		return -1;
	if (SYS(write, ends[1], d->held, d->holds) != d->holds)
		return -1;
	if (SYS(fcntl, ends[0], F_SETFL, d->flags & O_NONBLOCK) || SYS(fcntl, ends[1], F_SETFL, noted[other].flags & O_NONBLOCK))
		return -1;
	if (ends[1] == at) { // out of the way of the first
		ends[1] = (int)SYS(fcntl, ends[1], F_DUPFD_CLOEXEC, at + 1);
		SYS(close, at);
	}
	return place(ends[0], at, d->flags) || place(ends[1], other, noted[other].flags);
}

// make_epoll makes an instance that watches what is there already.
static int make_epoll(int at, const struct descriptor *d)
{
	long fd = SYS(epoll_create1, d->flags & O_CLOEXEC);
	for (int i = 0; i < d->watches; i++) {
		struct epoll_event e = {d->watched[i].events, d->watched[i].data};
		if (SYS(epoll_ctl, fd, EPOLL_CTL_ADD, d->watched[i].fd, &e) < 0)
			return -1;
	}
	return place(fd, at, d->flags);
}

static int make_file(int at, const struct descriptor *d)
{
	long fd = SYS(openat, AT_FDCWD, d->path, d->flags, 0);
	if (fd >= 0 && d->count)
		SYS(lseek, fd, d->count, 0);
	return place(fd, at, d->flags);
}

static int make(int at)
{
	const struct descriptor *d = &noted[at];
	switch (d->kind) {
	case EVENTFD:
		return place(SYS(eventfd2, d->count, d->flags & (O_NONBLOCK | O_CLOEXEC)), at, d->flags);
	case EPOLL:
		return make_epoll(at, d);
	case PIPE_READ:
		return make_pipe(at, d);
	case IMAGE_FILE:
		return make_file(at, d);
	case STANDARD:
		return place(SYS(fcntl, d->count, F_DUPFD_CLOEXEC, RESTORE_FD + 1), at, d->flags);
	default:
		return 0;
	}
}

int descriptors_make(void)
{
	for (int epolls = 0; epolls < 2; epolls++) // these last: they watch the others
		for (int fd = RESTORE_FD + 1; fd < MOST; fd++)
			if ((noted[fd].kind == EPOLL) == epolls && make(fd))
				return -1;
	if (noted[RESTORE_FD].kind == NONE)
		SYS(close, RESTORE_FD);
	return make(RESTORE_FD);
}
