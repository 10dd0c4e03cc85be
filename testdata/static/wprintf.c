#include <wchar.h>
int main(void) { wprintf(L"hi\n"); return 0; }
