// The mappings of this process, from /proc/self/smaps. Nothing here allocates: an allocation would
// change what is read.
#include <linux/fcntl.h>
#include "snapshot.h"

static char text[4 << 20];

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

// flags reads a line of a mapping. VmFlags has "wf" for MADV_WIPEONFORK and "dp" for MAP_DROPPABLE:
// there the C library keeps the state of the vDSO's getrandom. Two runs with one state would draw
// the same numbers (Documentation/filesystems/proc.rst).
static void flags(struct mapping *m, const char *line, const char *end)
{
	static const char name[] = "VmFlags:";
	for (int i = 0; name[i]; i++)
		if (line[i] != name[i])
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
	text[n] = 0;
	int count = 0;
	for (const char *p = text; *p;) {
		const char *end = p;
		while (*end && *end != '\n')
			end++;
		if (*p >= 'A' && *p <= 'Z') {
			if (count)
				flags(&out[count - 1], p, end);
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
		}
		p = *end ? end + 1 : end;
	}
	for (long i = 0; i < n; i++) // zeros take no place in a snapshot
		text[i] = 0;
	return count;
}
