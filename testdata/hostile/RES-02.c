#define ID "RES-02"
#include "probe.h"
// Startup files under every usual name, and a login shell that would read them.
int main(void) { const char *name[] = {".profile", ".bashrc", ".shrc", ".pythonrc.py", "sitecustomize.py", "usercustomize.py", "__pycache__/json.cpython-313.pyc", ".npmrc", ".gdbinit", "Makefile", "pom.xml", ".git/config"}, *in[] = {"/box", "/tmp"};
	char p[80]; const char *sh = access("/bin/sh", X_OK) ? "/busybox" : "/bin/sh";
	for (int i = 0; i < 24; i++) { snprintf(p, 80, "%s/%s", in[i % 2], name[i / 2]); TRY(p, open(p, O_RDONLY)); }
	setenv("HOME", "/box", 0); setenv("ENV", "/box/.shrc", 1);
	if (!fork()) { execl(sh, "sh", "-l", "-c", "echo begun by login", NULL); _exit(127); }
	wait(0);
	if (!fork()) { execl(sh, "sh", "-i", "-c", "echo begun by hand", NULL); _exit(127); }
	wait(0); return 0; }
