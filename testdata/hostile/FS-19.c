#define ID "FS-19"
#include "probe.h"
#include <linux/fs.h>
#include <sys/ioctl.h>
int main(void) {
	int from = open("/etc/passwd", O_RDONLY), direct = open("/etc/passwd", O_RDONLY | O_DIRECT), to = open("f", O_CREAT | O_RDWR, 0600);
	struct file_clone_range range = {.src_fd = from};
	union { struct file_dedupe_range r; char room[100]; } same = {.r = {.src_length = 1, .dest_count = 1}};
	same.r.info[0].dest_fd = to;
	TRY("FICLONE", ioctl(to, FICLONE, from));
	TRY("FICLONE direct", ioctl(to, FICLONE, direct));
	TRY("FICLONERANGE", ioctl(to, FICLONERANGE, &range));
	TRY("FIDEDUPERANGE", ioctl(from, FIDEDUPERANGE, &same));
	return 0;
}
