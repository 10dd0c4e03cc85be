// The environment variable that tells process images of brigd apart. It is an environment variable
// because libcontainer reads arguments.
#define PRIVATE_MOUNTS "BRIG_PRIVATE_MOUNTS"
#define PRIVATE_MOUNTS_WANTED "wanted" // the arguments do not show that an agent starts
#define PRIVATE_MOUNTS_MADE "made"     // this is the second process image

// The step that failed before Go started, or NULL.
extern const char *brigd_failed_step;
extern int brigd_failed_errno;
