// What the C library loads at run time: locales, conversions, names of users and hosts, and
// libraries.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <grp.h>
#include <iconv.h>
#include <langinfo.h>
#include <locale.h>
#include <netdb.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <wchar.h>

static int converts(const char *to)
{
	return iconv_open(to, "UTF-8") != (iconv_t)-1;
}

int main(void)
{
	const char *locale = setlocale(LC_ALL, "C.UTF-8");
	printf("locale %s, %s\n", locale ? locale : "none", nl_langinfo(CODESET));

	wchar_t w[10];
	printf("mbstowcs %d\n", (int)mbstowcs(w, "h\u00e9", 10));
	printf("iconv %d %d %d %d\n", converts("UTF-16LE"), converts("ISO-8859-1//TRANSLIT"), converts("SHIFT_JIS"), converts("CP1252"));

	struct passwd *user = getpwuid(getuid());
	struct group *group = getgrgid(0);
	printf("user %s, group %s\n", user ? user->pw_name : "none", group ? group->gr_name : "none");
	printf("localhost %d\n", gethostbyname("localhost") != 0);

	void *library = dlopen("libm.so.6", RTLD_NOW);
	double (*root)(double) = library ? (double (*)(double))dlsym(library, "sqrt") : 0;
	printf("dlopen %d\n", root ? (int)root(49) : -1);

	FILE *f = fopen("t", "w,ccs=UTF-8");
	if (f) {
		fwprintf(f, L"h\u00e9\n");
		fclose(f);
	}
	f = fopen("t", "r,ccs=UTF-8");
	printf("ccs %d\n", f && fgetws(w, 10, f) ? (int)wcslen(w) : -1);
	return 0;
}
