#define ID "FS-01"
#include "probe.h"
static void walk(const char *d, int depth) {
	char p[4096]; DIR *D; struct dirent *e; struct stat st;
	snprintf(p, sizeof p, "%s/.hostile", d);
	int f = open(p, O_CREAT | O_EXCL | O_WRONLY, 0600);
	if (f >= 0) { printf("writable %s\n", *d ? d : "/"); close(f); unlink(p); }
	else printf("refused %s %s\n", *d ? d : "/", strerrorname_np(errno));
	if (depth > 5 || !(D = opendir(*d ? d : "/"))) return;
	while ((e = readdir(D))) {
		if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, "..")) continue;
		snprintf(p, sizeof p, "%s/%s", d, e->d_name);
		if (!strcmp(p, "/proc") || lstat(p, &st)) continue;
		if (S_ISDIR(st.st_mode)) walk(p, depth + 1);
		else if (S_ISREG(st.st_mode)) {
			if ((f = open(p, O_WRONLY | O_APPEND)) >= 0) { printf("appended %s\n", p); close(f); }
			if (!chmod(p, 0777)) printf("chmoded %s\n", p);
			if (strncmp(p, "/box/", 5) && !unlink(p)) printf("unlinked %s\n", p);
		}
	}
	closedir(D);
}
int main(void) {
	walk("", 0);
	TRY("write /proc/sys/kernel/hostname", open("/proc/sys/kernel/hostname", O_WRONLY));
	TRY("write /proc/sysrq-trigger", open("/proc/sysrq-trigger", O_WRONLY));
	TRY("write /proc/self/uid_map", open("/proc/self/uid_map", O_WRONLY));
	return 0;
}
