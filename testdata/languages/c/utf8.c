#include <stdio.h>

int main(void) {
	char line[256];
	puts("grün 日本 😀");
	if (fgets(line, sizeof line, stdin)) fputs(line, stdout);
}
