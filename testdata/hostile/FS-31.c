#define ID "FS-31"
#include "probe.h"
int main(int c, char **v) { TRY("rename", rename("/box", "/tmp/gone")); TRY("rmdir", rmdir("/box")); TRY("symlink /box/d", symlink(v[1], "/box/d"));
	TRY("symlink etc", symlink("/etc/passwd", "/box/e")); TRY("mkdir", mkdir("/box/real", 0700)); TRY("swap", rename("/box/d", "/box/f")); return 0; }
