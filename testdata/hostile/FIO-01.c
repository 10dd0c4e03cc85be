#define ID "FIO-01"
#include "probe.h"
int main(int c, char **v) { TRY("absolute", symlink(v[1], "abs.txt")); TRY("relative", symlink("../etc/passwd", "rel.txt")); TRY("dangling", symlink("nowhere", "dangling.txt"));
	TRY("magic", symlink("/proc/self/environ", "magic.txt")); TRY("root", symlink("/proc/1/root", "root.txt")); TRY("fifo", mkfifo("fifo.txt", 0666)); close(open("plain.txt", O_CREAT | O_WRONLY, 0600)); return 0; }
