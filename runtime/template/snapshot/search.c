#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "search.h"

enum { MOST_PAGES = 1 << 16 };

static struct mapping mapping[MAX_MAPPINGS];

void refuse(const char *why)
{
	fprintf(stderr, "template: %s\n", why);
	_exit(1);
}

static int read_mappings(void)
{
	int n = mappings_read(mapping, MAX_MAPPINGS);
	if (n < 0)
		refuse("/proc/self/smaps cannot be read, or it is too long");
	return n;
}

static int has(const struct mapping *m, const void *address) { return m->at.start <= (u64)address && (u64)address < m->at.end; }

struct pages search_begin(void)
{
	struct pages p = {mmap(NULL, MOST_PAGES * sizeof *p.page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0), 0};
	if (p.page == MAP_FAILED)
		refuse("there is no memory for a copy of it");
	for (int i = 0, n = read_mappings(); i < n; i++) {
		const struct mapping *m = &mapping[i];
		u32 rw = PROT_READ | PROT_WRITE;
		if (m->kind != ORDINARY || (m->prot & rw) != rw || has(m, __builtin_frame_address(0)) || has(m, mapping) || has(m, p.page))
			continue;
		for (u64 at = m->at.start; at < m->at.end; at += PAGE) {
			if (mapping_untouched(m, at))
				continue;
			if (p.n == MOST_PAGES)
				refuse("there is too much memory to search");
			p.page[p.n].at = (u64 *)at;
			memcpy(p.page[p.n++].copy, (u64 *)at, PAGE);
		}
	}
	return p;
}

int search_words(struct pages p, int i, int k)
{
	int follows = i + 1 < p.n && p.page[i + 1].at == p.page[i].at + WORDS;
	return (int)WORDS - k + (follows ? (int)WORDS : 0);
}

u64 search_copy(struct pages p, int i, int k) { return k < (int)WORDS ? p.page[i].copy[k] : p.page[i + 1].copy[k - (int)WORDS]; }

void search_end(struct pages p) { munmap(p.page, MOST_PAGES * sizeof *p.page); }

void search_unmapped(u64 start, u64 end)
{
	for (int i = 0, n = read_mappings(); i < n; i++)
		if (mapping[i].at.start <= end && start < mapping[i].at.end)
			refuse("a time could be an address");
}
