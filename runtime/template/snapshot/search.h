// The memory of a process that makes a template, in which a driver looks for what each run must set.
#ifndef BRIG_SEARCH_H
#define BRIG_SEARCH_H

#include "snapshot.h"

enum { WORDS = PAGE / sizeof(u64) };

// A page to which the process has written, and a copy of it.
struct page { u64 *at; u64 copy[WORDS]; };

struct pages { struct page *page; int n; };

// search_begin copies what the process has written to, except for the stack of this thread and for what
// is the driver's. It does not return if it cannot.
struct pages search_begin(void);

void search_end(struct pages p);

// search_words returns how many words there are from word k of page i on, in this page and in the next one
// if that follows it. search_copy returns the copy of one of them.
int search_words(struct pages p, int i, int k);
u64 search_copy(struct pages p, int i, int k);

// search_unmapped does not return if a range of numbers could be one of addresses.
void search_unmapped(u64 start, u64 end);

// refuse ends the process: it makes no template.
__attribute__((noreturn)) void refuse(const char *why);

#endif
