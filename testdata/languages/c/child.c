#include <stdio.h>

int main(void) {
	char line[64];
	FILE *p = popen("echo from a child", "r");
	if (!p || !fgets(line, sizeof line, p)) return 1;
	fputs(line, stdout);
	return pclose(p);
}
