// Declarations shared by the parts of imagefiles.
#ifndef BRIG_IMAGEFILES_H
#define BRIG_IMAGEFILES_H

#include "../../cell/cellinit/sys.h"

enum { DT_UNKNOWN = 0, DT_CHR = 2, DT_DIR = 4, DT_REG = 8, MADV_WILLNEED = 3, MSG_PEEK = 2, MSG_DONTWAIT = 0x40 };
enum { SELF_FD = 3, TREE_FD, SOCKET_FD, LIFE_FD, COPY_FD };

// Kinds and steps of messages; runtime/imagechild.go has the same.
enum { KIND_IMAGE_FAILED = 1, KIND_IMAGE_WANTED, KIND_IMAGE_GRANT, KIND_IMAGE_HELD, KIND_IMAGE_COPIED };
enum {
	IMAGE_STEP_PRIVILEGE = 1, IMAGE_STEP_OPEN, IMAGE_STEP_LIST, IMAGE_STEP_STAT, IMAGE_STEP_MAP, IMAGE_STEP_LOCK,
	IMAGE_STEP_MAKE, IMAGE_STEP_WRITE, IMAGE_STEP_OWNER, IMAGE_STEP_MODE, IMAGE_STEP_TIME, IMAGE_STEP_LINK, IMAGE_STEP_AGENT, IMAGE_STEP_KIND
};

struct word5 { u64 kind, a, b, c, d; };

struct dirent64 {
	u64 ino;
	s64 off;
	u16 len;
	u8 type;
	char name[];
};

__attribute__((noreturn)) void die(u64 step, long err);
void say(const struct word5 *w);
void hear(struct word5 *w);
void end_with_agent(void);
void keep_only(u64 caps);
int same(const char *a, const char *b);
void each(int dir, void (*handle)(int dir, const char *name, u8 type, void *arg), void *arg);
int open_dir(int dir, const char *name);
void look(int dir, const char *name, int flags, struct statx *st);

__attribute__((noreturn)) void hold(void);       // hold.c
__attribute__((noreturn)) void read_ahead(void); // hold.c
__attribute__((noreturn)) void copy(void);       // copy.c

#endif
