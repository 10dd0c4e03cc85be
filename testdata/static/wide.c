#include <locale.h>
#include <stdio.h>
#include <wchar.h>

int main(void)
{
	wchar_t line[100];
	setlocale(LC_ALL, "");
	if (fgetws(line, 100, stdin))
		wprintf(L"%d %ls", (int)wcslen(line), line);
	return 0;
}
