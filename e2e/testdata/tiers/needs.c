/* needs CALL: exits with 0 where what needs the call works. needs: lists the calls. */
#include "needs.h"

static struct need all[256];
static int n;

void add_need(const char *call, int (*works)(void)) { all[n++] = (struct need){call, works}; }

int main(int c, char **v) {
	for (int i = 0; i < n; i++) {
		if (c < 2) {
			write(1, all[i].call, strlen(all[i].call));
			write(1, "\n", 1);
		} else if (!strcmp(all[i].call, v[1])) {
			return !all[i].works();
		}
	}
	return c < 2 ? 0 : 2;
}
