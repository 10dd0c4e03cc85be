#define ID "FS-04"
#include "probe.h"
int main(void) {
	struct stat before, after;
	mkdir("below", 0700); stat("/", &before);
	TRY("chroot", chroot("below")); // the working directory is now outside of it
	for (int i = 0; i < 64; i++) chdir("..");
	TRY("chroot up", chroot("."));
	stat("/", &after);
	puts(before.st_ino == after.st_ino && before.st_dev == after.st_dev ? "the same root" : "another root");
	return 0;
}
