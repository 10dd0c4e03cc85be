#define ID "RES-20"
#include "probe.h"
// A package that the previous run installed: into the image, for the user, next to the program.
int main(void) { TRY("tool", open("/bin/RESIDUE-tool", O_RDONLY)); TRY("user", open("/box/.local/lib/python3.13/site-packages/RESIDUE.py", O_RDONLY)); TRY("local", open("/box/node_modules/RESIDUE/index.js", O_RDONLY));
	if (!fork()) { const char *sh = access("/bin/sh", X_OK) ? "/busybox" : "/bin/sh"; close(2); execl(sh, "sh", "/bin/RESIDUE-tool", NULL); _exit(126); }
	int s; wait(&s); printf("the tool ends with %d\n", WEXITSTATUS(s)); return 0; }
