#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

int main(void) {
	regex_t re;
	regmatch_t at;
	const char *text = "the year 2026 in a text";
	if (regcomp(&re, "[0-9]{4}", REG_EXTENDED) || regexec(&re, text, 1, &at, 0)) return 1;
	printf("regex %.*s\n", (int)(at.rm_eo - at.rm_so), text + at.rm_so);

	struct tm noon = {.tm_year = 126, .tm_mday = 1, .tm_hour = 12};
	time_t when = timegm(&noon);
	setenv("TZ", "Asia/Tokyo", 1);
	struct tm *tokyo = localtime(&when);
	printf("zone %02d:%02d\n", tokyo->tm_hour, tokyo->tm_min);

	unsigned char bytes[16], none[16] = {0};
	if (getrandom(bytes, sizeof bytes, 0) != sizeof bytes || !memcmp(bytes, none, sizeof none)) return 1;
	puts("random ok");

	char back[8];
	FILE *f = tmpfile();
	if (!f || fputs("temp ok", f) < 0) return 1;
	rewind(f);
	if (!fgets(back, sizeof back, f)) return 1;
	puts(back);
}
