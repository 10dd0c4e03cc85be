#define ID "pages"
#include "probe.h"
// pages use FILE maps a file and reads its pages, as a program does with a library that it loads. pages
// watch FILE... prints for each line of its stdin which files are mapped by more processes than at its
// start: the kernel divides the size of each page by the number of its mappings (Pss).
enum { MOST = 16 };
static char *at[MOST];
static long size[MOST], first[MOST];

static char *use(const char *name, long *size) {
	struct stat st; volatile char sum = 0; int f = open(name, O_RDONLY); char *p;
	if (f < 0 || fstat(f, &st) || (p = mmap(0, st.st_size, PROT_READ, MAP_SHARED, f, 0)) == MAP_FAILED) { perror(name); exit(1); }
	for (long o = 0; o < st.st_size; o += 4096) sum += p[o];
	close(f); *size = st.st_size;
	return p;
}
static void shares(long *kib, int files) {
	char line[400]; unsigned long from; int of = -1; FILE *f = fopen("/proc/self/smaps", "r");
	if (!f) { perror("smaps"); exit(1); }
	while (fgets(line, sizeof line, f)) {
		if (sscanf(line, "%lx-%*x ", &from) == 1 && strchr(line, '-') == strpbrk(line, "- :")) { of = -1; for (int i = 0; i < files; i++) if (at[i] == (char *)from) of = i; }
		else if (of >= 0) sscanf(line, "Pss: %ld", &kib[of]);
	}
	fclose(f);
}
int main(int c, char **v) {
	char line[80]; long kib[MOST] = {0};
	if (c < 3 || c - 2 > MOST) return 2;
	for (int i = 2; i < c; i++) at[i - 2] = use(v[i], &size[i - 2]);
	shares(first, c - 2);
	puts("begun"); fflush(stdout);
	while (fgets(line, sizeof line, stdin)) {
		if (strcmp(v[1], "watch")) continue;
		shares(kib, c - 2);
		for (int i = 2; i < c; i++) if (kib[i - 2] < first[i - 2]) printf("used %s\n", v[i]);
		puts("looked"); fflush(stdout);
	}
	return 0;
}
