#define ID "NS-07"
#include "probe.h"
#include <sys/un.h>
static int dirs;
static void walk(const char *d, int depth) {
	char p[4096]; struct dirent *e; struct stat st; DIR *D = opendir(*d ? d : "/");
	if (!D) return;
	for (dirs++; depth < 20 && (e = readdir(D));) {
		snprintf(p, sizeof p, "%s/%s", d, e->d_name);
		if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, "..") || lstat(p, &st)) continue;
		if (S_ISSOCK(st.st_mode)) printf("socket %s\n", p);
		if (S_ISDIR(st.st_mode) && strcmp(p, "/proc")) walk(p, depth + 1);
	}
	closedir(D);
}
int main(int c, char **v) {
	struct sockaddr_un a = {.sun_family = AF_UNIX}; struct stat st; int l;
	strncpy(a.sun_path, v[1], sizeof a.sun_path - 1);
	if (c > 2) { l = socket(AF_UNIX, SOCK_STREAM, 0); bind(l, (void *)&a, sizeof a); listen(l, 1); } // in the control
	TRY("look at the canary", lstat(v[1], &st));
	TRY("connect to the canary", connect(socket(AF_UNIX, SOCK_STREAM, 0), (void *)&a, sizeof a));
	walk("", 0);
	puts(dirs > 9 ? "walked" : "walked nothing");
	return 0;
}
