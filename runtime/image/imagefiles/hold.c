// Holding an image's files in memory.
#include "imagefiles.h"

// A mapped file. If not all fit, the files that programs hardly ever read come last.
struct mapped {
	u64 at, size;
	u32 seldom;
};

// The kernel lets a process have 65,530 mappings unless vm.max_map_count says otherwise. Files
// beyond MOST_FILES are not held, and the agent reports that.
enum { MOST_FILES = 65000, PLACES = 1 << 17 };
static struct mapped files[MOST_FILES];

// Files with several names are mapped once. This hash table has, for each inode, the index in files
// plus one; 0: empty. If a file's place is taken, the next free one is used, and there is always
// one.
static struct { u64 ino; u32 file; } several[PLACES];
static u64 count, wanted;
static int only_read; // read ahead, map nothing

static const char *const seldom_names[] = {"doc", "man", "info", "locale", "zoneinfo", "licenses", "lintian", "i18n", "common-licenses"};

static int is_seldom(const char *name)
{
	for (u64 i = 0; i < sizeof seldom_names / sizeof *seldom_names; i++)
		if (same(name, seldom_names[i]))
			return 1;
	return 0;
}

struct place {
	int share;  // the directory is called share
	int seldom; // it, or one above it, holds documentation or the like
};

// The kernel reads at most the disk's readahead at once, which is this unless it was changed. If it
// is smaller, the rest is read by the process that needs it.
enum { AHEAD = 128 << 10 };

// place_of returns the place where the inode is recorded, or is to be.
static u64 place_of(u64 ino)
{
	u64 at = ino % PLACES;
	while (several[at].file != 0 && several[at].ino != ino)
		at = (at + 1) % PLACES;
	return at;
}

static void map_one(int dir, const char *name, u8 type, void *arg)
{
	const struct place *here = arg;
	struct statx st;
	if (type == DT_UNKNOWN) {
		look(dir, name, 0, &st);
		type = (st.stx_mode & S_IFMT) >> 12;
	}
	if (type == DT_DIR) {
		struct place below = {same(name, "share"), here->seldom || (here->share && is_seldom(name))};
		int fd = open_dir(dir, name);
		each(fd, map_one, &below);
		SYS(close, fd);
		return;
	}
	if (type != DT_REG || (only_read && here->seldom))
		return;
	long fd = SYS(openat, dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0);
	if (fd < 0)
		die(IMAGE_STEP_OPEN, fd);
	look((int)fd, "", AT_EMPTY_PATH, &st);
	u64 size = (st.stx_size + PAGE - 1) & ~(u64)(PAGE - 1);
	u64 noted = st.stx_nlink > 1 ? place_of(st.stx_ino) : PLACES;
	if (noted < PLACES && several[noted].file != 0) {
		files[several[noted].file - 1].seldom &= (u32)here->seldom; // programs may read it by either name
		SYS(close, fd);
		return;
	}
	wanted += size;
	if (only_read) {
		for (u64 at = 0; at < size; at += AHEAD)
			SYS(readahead, fd, at, AHEAD);
	} else if (size > 0 && count < MOST_FILES) {
		long at = MMAP(0, size, PROT_READ, MAP_SHARED, fd);
		if (at < 0 && at > -4096 && at != -ENOMEM)
			die(IMAGE_STEP_MAP, at);
		if (at > 0) {
			files[count++] = (struct mapped){(u64)at, size, (u32)here->seldom};
			if (noted < PLACES) {
				several[noted].ino = st.stx_ino;
				several[noted].file = (u32)count;
			}
		}
	}
	SYS(close, fd);
}

// in_memory reports whether every page that is to be held is in the page cache.
static int in_memory(void)
{
	static u8 pages[64 << 10];
	for (u64 i = 0; i < count; i++)
		for (u64 done = 0; done < files[i].size;) {
			u64 part = files[i].size - done;
			if (part > sizeof pages * (u64)PAGE)
				part = sizeof pages * (u64)PAGE;
			if (SYS(mincore, files[i].at + done, part, pages) < 0)
				return 0;
			for (u64 p = 0; p < part / PAGE; p++)
				if (!(pages[p] & 1))
					return 0;
			done += part;
		}
	return 1;
}

// The first of two passes takes the files that programs read, the second the rest. Reading is
// started for all files before the first page is waited for.
__attribute__((noreturn)) void hold(void)
{
	keep_only(1UL << CAP_IPC_LOCK | 1UL << CAP_DAC_READ_SEARCH);
	end_with_agent();
	struct place root = {0, 0};
	int fd = open_dir(TREE_FD, ".");
	each(fd, map_one, &root);
	SYS(close, fd);
	SYS(close, TREE_FD);

	struct word5 w = {KIND_IMAGE_WANTED, wanted, count, 0, 0};
	say(&w);
	hear(&w);
	u64 grant = w.a, held = 0, held_files = 0;
	for (u32 seldom = 0; seldom < 2; seldom++)
		for (u64 i = 0; i < count; i++)
			if (files[i].seldom == seldom) {
				if (held + files[i].size <= grant) {
					held += files[i].size;
				} else {
					SYS(munmap, files[i].at, files[i].size);
					files[i].size = 0;
				}
			}
	for (u64 i = 0; i < count; i++)
		held_files += files[i].size > 0;
	w = (struct word5){KIND_IMAGE_HELD, held, held_files, 0, 0};
	// If every page is in memory now, no run is charged for one. Locking, which then takes longer,
	// continues during the first run.
	int here = in_memory();
	if (here)
		say(&w);
	for (u64 i = 0; i < count && !here; i++)
		if (files[i].size)
			SYS(madvise, files[i].at, files[i].size, MADV_WILLNEED);
	for (u64 i = 0; i < count; i++) {
		long err = files[i].size ? SYS(mlock, files[i].at, files[i].size) : 0;
		if (err < 0)
			die(IMAGE_STEP_LOCK, err);
	}
	if (!here)
		say(&w);
	for (;;)
		hear(&w); // ends when the agent ends
}

// read_ahead makes the page cache read the files, charged to this process's group, and holds
// nothing: for an agent that serves one command.
__attribute__((noreturn)) void read_ahead(void)
{
	keep_only(1UL << CAP_DAC_READ_SEARCH);
	end_with_agent();
	only_read = 1;
	struct place root = {0, 0};
	each(open_dir(TREE_FD, "."), map_one, &root);
	struct word5 w = {KIND_IMAGE_HELD, 0, count, 0, 0};
	say(&w);
	SYS(exit_group, 0);
	__builtin_unreachable();
}
