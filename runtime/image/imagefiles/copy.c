// Copying an image's tree, with its owners shifted into a cell's range.
#include "imagefiles.h"

enum { IDS = 65536, NOBODY = 65534, MOST_TARGET = 4096, DIGITS = 21 };

static u64 bytes, entries;
static u32 base, exchanged; // host id of the cell's root; not 0: the id that is swapped with root's

static u32 shifted(u32 id)
{
	if (exchanged && id == 0)
		return base + exchanged;
	if (exchanged && id == exchanged)
		return base;
	return base + (id < IDS ? id : NOBODY);
}

static void check(u64 step, long err)
{
	if (err < 0)
		die(step, err);
}

// Sets the modification time that statx returned: interpreters compare the times of sources with
// those in their caches.
static void keep_time(int dir, const char *name, const struct statx *st)
{
	struct __kernel_timespec t[2];
	t[0].tv_sec = t[1].tv_sec = st->stx_mtime.tv_sec;
	t[0].tv_nsec = t[1].tv_nsec = st->stx_mtime.tv_nsec;
	check(IMAGE_STEP_TIME, SYS(utimensat, dir, name, t, name ? AT_SYMLINK_NOFOLLOW : 0));
}

// While the tree is copied, a file with several names has one more: the number of the image's
// inode, in a directory of the copy's root. With it the file system itself finds, among any number
// of such files, the one that was copied already.
static int several = -1; // that directory; -1: there is none yet
static const char *several_name;

static const char *decimal(u64 n, char text[DIGITS])
{
	char *at = text + DIGITS - 1;
	*at = 0;
	do
		*--at = (char)('0' + n % 10);
	while ((n /= 10) > 0);
	return at;
}

// begin_several makes that directory, under a name that the image's root does not have.
static void begin_several(void)
{
	static char text[DIGITS];
	struct statx st;
	long err;
	u64 n = 0;
	do {
		several_name = decimal(n++, text);
		err = SYS(statx, TREE_FD, several_name, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT, STATX_TYPE, &st);
	} while (err == 0);
	if (err != -ENOENT)
		die(IMAGE_STEP_STAT, err);
	check(IMAGE_STEP_MAKE, SYS(mkdirat, COPY_FD, several_name, 0700));
	several = open_dir(COPY_FD, several_name);
}

static void drop_name(int dir, const char *name, u8 type, void *arg)
{
	(void)type, (void)arg;
	check(IMAGE_STEP_LINK, SYS(unlinkat, dir, name, 0));
}

static void end_several(void)
{
	if (several < 0)
		return;
	each(several, drop_name, 0);
	SYS(close, several);
	check(IMAGE_STEP_LINK, SYS(unlinkat, COPY_FD, several_name, AT_REMOVEDIR));
}

// link_again adds another name to a file that was copied already.
static int link_again(int to, const char *name, const struct statx *st)
{
	char number[DIGITS];
	long err = several < 0 ? -ENOENT : SYS(linkat, several, decimal(st->stx_ino, number), to, name, 0);
	if (err == -ENOENT)
		return 0;
	check(IMAGE_STEP_LINK, err);
	return 1;
}

static void keep_for_links(int to, const char *name, const struct statx *st)
{
	char number[DIGITS];
	if (several < 0)
		begin_several();
	check(IMAGE_STEP_LINK, SYS(linkat, to, name, several, decimal(st->stx_ino, number), 0));
}

static void copy_file(int from, int to, const char *name, const struct statx *st)
{
	if (st->stx_nlink > 1 && link_again(to, name, st))
		return;
	long in = SYS(openat, from, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0);
	check(IMAGE_STEP_OPEN, in);
	long out = SYS(openat, to, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	check(IMAGE_STEP_MAKE, out);
	// The size comes first: within it the file system may take large pages.
	check(IMAGE_STEP_WRITE, SYS(ftruncate, out, st->stx_size));
	for (u64 left = st->stx_size; left > 0;) {
		long n = SYS(sendfile, out, in, 0, left);
		if (n == -EINTR)
			continue;
		check(IMAGE_STEP_WRITE, n);
		if (n == 0)
			die(IMAGE_STEP_WRITE, -EIO); // shorter than its size: nobody may change an image
		left -= (u64)n;
	}
	bytes += st->stx_size;
	check(IMAGE_STEP_OWNER, SYS(fchown, out, shifted(st->stx_uid), shifted(st->stx_gid)));
	check(IMAGE_STEP_MODE, SYS(fchmod, out, st->stx_mode & 07777)); // after chown, which clears set-id bits
	keep_time((int)out, 0, st);
	SYS(close, in);
	SYS(close, out);
	if (st->stx_nlink > 1)
		keep_for_links(to, name, st);
}

static void copy_link(int from, int to, const char *name, const struct statx *st)
{
	char target[MOST_TARGET];
	long n = SYS(readlinkat, from, name, target, sizeof target - 1);
	check(IMAGE_STEP_OPEN, n);
	target[n] = 0;
	check(IMAGE_STEP_MAKE, SYS(symlinkat, target, to, name));
	check(IMAGE_STEP_OWNER, SYS(fchownat, to, name, shifted(st->stx_uid), shifted(st->stx_gid), AT_SYMLINK_NOFOLLOW));
	keep_time(to, name, st);
}

// no_such reports whether there is nothing behind a name that was listed. An overlay lists a whiteout as
// a device where it merges nothing, and finds no file there (IMG-51).
static int no_such(int dir, const char *name)
{
	struct statx st;
	return SYS(statx, dir, name, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT, STATX_TYPE, &st) == -ENOENT;
}

static void copy_one(int from, const char *name, u8 type, void *arg)
{
	int to = *(int *)arg;
	struct statx st;
	if (type == DT_CHR && no_such(from, name))
		return;
	look(from, name, 0, &st);
	entries++;
	switch (st.stx_mode & S_IFMT) {
	case S_IFREG:
		copy_file(from, to, name, &st);
		return;
	case S_IFLNK:
		copy_link(from, to, name, &st);
		return;
	case S_IFDIR:
		break;
	default:
		die(IMAGE_STEP_KIND, -EINVAL); // an import accepts none of these
	}
	check(IMAGE_STEP_MAKE, SYS(mkdirat, to, name, 0700));
	int in = open_dir(from, name), out = open_dir(to, name);
	each(in, copy_one, &out);
	SYS(close, in);
	check(IMAGE_STEP_OWNER, SYS(fchown, out, shifted(st.stx_uid), shifted(st.stx_gid)));
	check(IMAGE_STEP_MODE, SYS(fchmod, out, st.stx_mode & 07777));
	SYS(close, out);
	keep_time(to, name, &st);
}

__attribute__((noreturn)) void copy(void)
{
	keep_only(1UL << CAP_CHOWN | 1UL << CAP_DAC_OVERRIDE | 1UL << CAP_DAC_READ_SEARCH | 1UL << CAP_FOWNER | 1UL << CAP_FSETID);
	end_with_agent();
	struct word5 w;
	hear(&w);
	base = (u32)w.a;
	exchanged = (u32)w.b;
	int in = open_dir(TREE_FD, "."), out = open_dir(COPY_FD, ".");
	each(in, copy_one, &out);
	end_several();
	struct statx st;
	look(in, ".", 0, &st);
	check(IMAGE_STEP_OWNER, SYS(fchown, out, shifted(st.stx_uid), shifted(st.stx_gid)));
	check(IMAGE_STEP_MODE, SYS(fchmod, out, st.stx_mode & 07777));
	keep_time(out, 0, &st);
	w = (struct word5){KIND_IMAGE_COPIED, bytes, entries, 0, 0};
	say(&w);
	SYS(exit_group, 0);
	__builtin_unreachable();
}
