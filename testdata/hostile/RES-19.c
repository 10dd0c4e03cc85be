#define ID "RES-19"
#include "probe.h"
#include <ftw.h>
// Places where a build could find what another left: caches in the home directory, and every
// writable part of the whole tree.
static int see(const char *path, const struct stat *st, int kind, struct FTW *f) {
	if (!strncmp(path, "/proc", 5)) return FTW_SKIP_SUBTREE;
	if (kind != FTW_SL && !S_ISCHR(st->st_mode) && !access(path, W_OK)) printf("writable %s\n", path);
	return FTW_CONTINUE;
}
int main(void) { const char *name[] = {".cache/ccache", ".cache/go-build", ".cache/pip", ".gradle", ".m2", ".npm"}; char p[80];
	for (int i = 0; i < 6; i++) { snprintf(p, 80, "/box/%s/RESIDUE", name[i]); TRY(name[i], open(p, O_RDONLY)); }
	nftw("/", see, 20, FTW_PHYS | FTW_ACTIONRETVAL); return 0; }
