// Every kind of stream of the C library, narrow and wide: each has functions that a static program
// has only if something takes them into it. The exit status is the number of wrong answers.
#define _GNU_SOURCE
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

static int wrong;

static void check(const char *what, int right)
{
	if (right)
		return;
	wrong++;
	fprintf(stderr, "wrong: %s\n", what);
}

static ssize_t count(void *written, const char *bytes, size_t n)
{
	(void)bytes;
	*(size_t *)written += n;
	return (ssize_t)n;
}

static void memory(void)
{
	size_t n = 0;
	FILE *f = fopencookie(&n, "w", (cookie_io_functions_t){.write = count});
	fprintf(f, "abc");
	fclose(f);
	check("fopencookie", n == 3);

	char *text = 0;
	f = open_memstream(&text, &n);
	fprintf(f, "%d", 42);
	fclose(f);
	check("open_memstream", !strcmp(text, "42"));

	wchar_t *wide = 0;
	f = open_wmemstream(&wide, &n);
	fwprintf(f, L"%d", 42);
	fclose(f);
	check("open_wmemstream", !wcscmp(wide, L"42"));

	char bytes[] = "x y";
	f = fmemopen(bytes, 3, "r");
	check("fmemopen", fgetc(f) == 'x');
	fclose(f);

	char *made;
	check("asprintf", asprintf(&made, "%s", "q") == 1 && !strcmp(made, "q"));
}

static void strings(void)
{
	wchar_t w[20];
	int n = 0;
	swprintf(w, 20, L"%ls%d", L"a", 1);
	check("swprintf", !wcscmp(w, L"a1"));
	check("swscanf", swscanf(L"17", L"%d", &n) == 1 && n == 17);
	check("sscanf", sscanf("18", "%d", &n) == 1 && n == 18);
}

static void files(void)
{
	wchar_t w[20];
	FILE *f = fopen("t", "w");
	fputws(L"hi\nyou\n", f);
	fclose(f);

	f = fopen("t", "rm"); // by mmap
	check("fgetwc", fgetwc(f) == L'h');
	check("ungetwc", ungetwc(L'z', f) == L'z' && fgetwc(f) == L'z');
	fclose(f);

	f = fopen("t", "r");
	check("fgetws", fgetws(w, 20, f) && !wcscmp(w, L"hi\n"));
	check("ftell", ftell(f) == 3);
	check("fseek", !fseek(f, 0, SEEK_SET) && fgetwc(f) == L'h');
	fclose(f);

	f = fopen("t", "r");
	check("fwscanf", fwscanf(f, L"%ls", w) == 1 && !wcscmp(w, L"hi"));
	check("freopen", (f = freopen("t", "r", f)) && fgetc(f) == 'h');
	fclose(f);

	f = tmpfile();
	check("fwide", f && fwide(f, 1) > 0 && fwprintf(f, L"%d", 1) == 1);

	int n = 0;
	f = popen("echo 7", "r");
	check("popen", f && fscanf(f, "%d", &n) == 1 && n == 7);
	pclose(f);
}

int main(void)
{
	memory();
	strings();
	files();
	fflush(stdout);
	wprintf(L"wide %ls\n", L"text");
	fwprintf(stderr, L"%ls", L"");
	warn("%s", "end");
	return wrong;
}
