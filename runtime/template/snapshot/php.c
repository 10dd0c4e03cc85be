// Loaded before libc by LD_PRELOAD into the php of an image: it writes a snapshot to BRIG_TEMPLATE when
// php is about to open its script, and exits. The modules have started then, and no request has. A
// process that executes the snapshot opens its own script at this point, and all that follows is the
// ordinary start.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "script.h"

// The part of PHP's interface for servers that is needed here, the same in 8.3 and 8.4 (main/SAPI.h).
typedef struct {
	char *name, *pretty_name;
	int (*startup)(void *module), (*shutdown)(void *module), (*activate)(void), (*deactivate)(void);
} sapi_module_struct;

typedef struct {
	void *server_context;
	struct {
		char *request_method, *query_string, *cookie_data;
		long content_length;
		char *path_translated, *request_uri;
		void *request_body;
		char *content_type;
		_Bool headers_only, no_headers, headers_read;
		void *post_entry;
		char *content_type_dup, *auth_user, *auth_password, *auth_digest, *argv0, *current_user;
		int current_user_length, argc;
		char **argv;
	} request_info;
} sapi_globals_struct;

extern sapi_module_struct sapi_module;
extern sapi_globals_struct sapi_globals;
unsigned php_version_id(void);    // 8.3
void zend_call_stack_init(void); // 8.3

static int (*activate)(void);

// set_arguments is called when the request starts. The function that opened the script has set those
// of the template.
static int set_arguments(void)
{
	if (sapi_globals.request_info.argc != 1 || strcmp(sapi_globals.request_info.argv[0], script.argv[script.at]))
		__builtin_trap(); // another PHP than the one that the trial has tried
	sapi_globals.request_info.argc = script.argc - script.at;
	sapi_globals.request_info.argv = script.argv + script.at;
	sapi_module.activate = activate;
	return activate ? activate() : 0;
}

// In place of the C library's.
EXPORTED FILE *fopen(const char *path, const char *mode)
{
	static FILE *(*real)(const char *, const char *);
	if (!real)
		real = dlsym(RTLD_NEXT, "fopen");
	if (!script_reached(path))
		return real(path, mode);
	if (php_version_id() >= 80500) {
		fprintf(stderr, "template: this is PHP %u, and the driver knows 8.3 and 8.4\n", php_version_id());
		_exit(1);
	}
	script_write();
	// In each run.
	zend_call_stack_init();
	activate = sapi_module.activate;
	sapi_module.activate = set_arguments;
	return real(path, mode);
}
