// The mappings of this process, from /proc/self/smaps. Nothing here allocates: an allocation would
// change what is read.
#include <linux/fcntl.h>
#include "snapshot.h"

static char text[4 << 20];
static long used; // of it

static u64 hex(const char **p)
{
	u64 v = 0;
	for (;; (*p)++) {
		char c = **p;
		if (c >= '0' && c <= '9')
			v = v * 16 + (u64)(c - '0');
		else if (c >= 'a' && c <= 'f')
			v = v * 16 + (u64)(c - 'a' + 10);
		else
			return v;
	}
}

// contains reports whether word is between p and end.
static int contains(const char *p, const char *end, const char *word)
{
	for (; p < end; p++) {
		const char *a = p, *b = word;
		while (a < end && *b && *a == *b)
			a++, b++;
		if (!*b)
			return 1;
	}
	return 0;
}

// begins reports whether a line begins with a name, and how long it is.
static int begins(const char *line, const char *name)
{
	int n = 0;
	for (; name[n]; n++)
		if (line[n] != name[n])
			return 0;
	return n;
}

// nonzero reports whether the number in a line is not 0.
static int nonzero(const char *line, const char *end)
{
	for (; line < end; line++)
		if (*line >= '1' && *line <= '9')
			return 1;
	return 0;
}

// field reads a line of a mapping. VmFlags has "wf" for MADV_WIPEONFORK and "dp" for MAP_DROPPABLE:
// there the C library keeps the state of the vDSO's getrandom. Two runs with one state would draw
// the same numbers. A page of a file that the process has changed is an anonymous one
// (Documentation/filesystems/proc.rst).
static void field(struct mapping *m, const char *line, const char *end)
{
	if ((begins(line, "Anonymous:") || begins(line, "Swap:")) && nonzero(line, end))
		m->file = 0;
	if (begins(line, "ProtectionKey:") && nonzero(line, end))
		m->keyed = 1;
	if (!begins(line, "VmFlags:"))
		return;
	m->droppable = (u32)contains(line, end, " dp");
	if (m->droppable || contains(line, end, " wf"))
		m->kind = FRESH;
}

int mappings_read(struct mapping *out, int max)
{
	long fd = SYS(openat, AT_FDCWD, "/proc/self/smaps", 0, 0), n = 0, got;
	if (fd < 0)
		return -1;
	while ((got = SYS(read, fd, text + n, (long)sizeof text - 1 - n)) > 0)
		n += got;
	SYS(close, fd);
	if (got < 0 || n == (long)sizeof text - 1)
		return -1;
	text[used = n] = 0;
	int count = 0;
	for (const char *p = text; *p;) {
		const char *end = p;
		while (*end && *end != '\n')
			end++;
		if (*p >= 'A' && *p <= 'Z') {
			if (count)
				field(&out[count - 1], p, end);
		} else {
			if (count == max)
				return -1;
			struct mapping *m = &out[count++];
			*m = (struct mapping){0};
			m->at.start = hex(&p);
			p++;
			m->at.end = hex(&p);
			p++;
			m->prot = (p[0] == 'r' ? 1u : 0) | (p[1] == 'w' ? 2u : 0) | (p[2] == 'x' ? 4u : 0);
			m->kind = contains(p, end, "[stack]") ? STACK : contains(p, end, "[vdso]") ? VDSO :
				  contains(p, end, "[vvar") ? VVAR : contains(p, end, "[vsyscall]") ? VSYSCALL : ORDINARY;
			int shared = p[3] == 's';
			p += 5;
			m->offset = hex(&p);
			p++;
			m->device = (u32)hex(&p) << 20;
			p++;
			m->device |= (u32)hex(&p);
			while (p < end && *p != '/')
				p++;
			m->anonymous = p == end;
			if (p < end && !(shared && (m->prot & 2)))
				m->file = p;
		}
		p = *end ? end + 1 : end;
	}
	return count;
}

// The entries of /proc/self/pagemap for the pages from window on (Documentation/admin-guide/mm/pagemap.rst).
enum { ENTRIES = 8192, PAGE_PRESENT = 63, PAGE_SWAPPED = 62 };
static u64 entry[ENTRIES], window;
static long entries;

int mapping_untouched(const struct mapping *m, u64 page)
{
	if (!m->anonymous)
		return 0;
	u64 first = page / PAGE;
	if (first < window || first >= window + (u64)entries) {
		long fd = SYS(openat, AT_FDCWD, "/proc/self/pagemap", O_RDONLY | O_CLOEXEC, 0);
		long n = SYS(pread64, fd, entry, sizeof entry, first * sizeof entry[0]);
		SYS(close, fd);
		window = first;
		entries = n > 0 ? n / (long)sizeof entry[0] : 0;
	}
	return entries && !(entry[first - window] >> PAGE_SWAPPED);
}

void mappings_forget(void)
{
	for (entries = 0, window = 0; window < ENTRIES; window++)
		entry[window] = 0;
	for (long i = 0; i < used; i++) // zeros take no place in a snapshot
		text[i] = 0;
}
