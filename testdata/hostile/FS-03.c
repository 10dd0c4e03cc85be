#define ID "FS-03"
#include "probe.h"
#include <linux/mount.h>
int main(void) {
	struct mount_attr a = {.attr_set = MOUNT_ATTR_RDONLY};
	mkdir("m", 0700);
	long fs = TRY("fsopen", syscall(SYS_fsopen, "tmpfs", 0));
	TRY("fsconfig", syscall(SYS_fsconfig, fs, FSCONFIG_CMD_CREATE, 0, 0, 0));
	long m = TRY("fsmount", syscall(SYS_fsmount, fs, 0, 0));
	TRY("move_mount", syscall(SYS_move_mount, m, "", AT_FDCWD, "m", MOVE_MOUNT_F_EMPTY_PATH));
	TRY("open_tree", syscall(SYS_open_tree, AT_FDCWD, "m", OPEN_TREE_CLONE));
	TRY("open_tree_attr", syscall(467, AT_FDCWD, "m", OPEN_TREE_CLONE, &a, sizeof a));
	TRY("mount_setattr", syscall(SYS_mount_setattr, AT_FDCWD, "m", 0, &a, sizeof a));
	TRY("fspick", syscall(SYS_fspick, AT_FDCWD, "m", 0));
	return 0;
}
