#define ID "FS-05"
#include "probe.h"
int main(void) {
	union { struct file_handle h; char room[sizeof(struct file_handle) + MAX_HANDLE_SZ]; } u = {.h = {.handle_bytes = MAX_HANDLE_SZ}};
	int id, dir = open(".", O_RDONLY | O_DIRECTORY);
	close(open("f", O_CREAT | O_WRONLY, 0600));
	TRY("name_to_handle_at", name_to_handle_at(AT_FDCWD, "f", &u.h, &id, 0));
	TRY("open_by_handle_at", open_by_handle_at(dir, &u.h, O_RDONLY));
	return 0;
}
