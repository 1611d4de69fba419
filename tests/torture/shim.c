/* Lets one call to the system fail, of those that concern files below one folder: loaded before libc.

   arm(folder, prefix, fault, n): from now on, the nth call of a kind that this fault befalls fails once; names
   with this prefix are of files that are being written.
   seen(): how many such calls there were since.
   struck(), about(): the kinds of the call that failed, and the path that it concerned.
   unsynced(): where that was to make something durable, which no later call did, its path now; of a folder,
   that of what was given or lost a name in it last. */

#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

enum { OPEN = 1, MAKE = 2, WRITE = 4, SYNC = 8, NAME = 16, SIZE = 32, READ = 64, LOCK = 128, CLOSE = 256, LOOK = 512, LIST = 1024 };

static char folder[PATH_MAX];
static size_t length;
static int fault, kinds, armed, struck_kinds;
static atomic_int count, turn;
static char prefix[64], struck_path[PATH_MAX], named_last[PATH_MAX];
static _Thread_local char looked_at[PATH_MAX];

void arm(const char *below, const char *temporary, int error, int which, int n) {
    length = strlen(strcpy(folder, below));
    strcpy(prefix, temporary);
    fault = error;
    kinds = which;
    turn = n;
    count = 0;
    struck_kinds = 0;
    armed = 1;
}

int seen(void) { return count; }
int struck(void) { return struck_kinds; }
const char *about(void) { return struck_path; }

static int is_below(const char *path) {
    strncpy(looked_at, path, sizeof looked_at - 1);
    return strncmp(path, folder, length) == 0;
}

static int name_of(int fd, char path[PATH_MAX]) {
    char name[64];
    snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
    long size = syscall(SYS_readlink, name, path, PATH_MAX - 1);
    path[size < 0 ? 0 : size] = 0;
    return size >= 0;
}

static int of_fd(int fd) {
    char path[PATH_MAX];
    return name_of(fd, path) && is_below(path);
}

static int of_path(int at, const char *path) {
    char here[PATH_MAX];
    if (path[0] == '/') return is_below(path);
    if (at != AT_FDCWD) return of_fd(at);
    return syscall(SYS_getcwd, here, sizeof here) > 0 && is_below(here);
}

/* Whether a name is changed that matters; a file that is being written is known by the name that it gets. */
static int names(int at, const char *path) {
    char above[PATH_MAX];
    int concerns = of_path(at, path);
    const char *end = strrchr(path, '/');
    if (!concerns || strncmp(end ? end + 1 : path, prefix, strlen(prefix)) == 0) return concerns;
    if (path[0] == '/') strncpy(named_last, path, sizeof named_last - 1);
    else if (at == AT_FDCWD ? syscall(SYS_getcwd, above, sizeof above) > 0 : name_of(at, above))
        if (snprintf(named_last, sizeof named_last, "%s/%s", above, path) < 0) named_last[0] = 0;
    return concerns;
}

/* Whether this call is the one that fails. */
static int fails(int kind, int concerns) {
    if (!concerns || !(kind & kinds)) return 0;
    if (atomic_fetch_add(&count, 1) + 1 != turn) return 0;
    struck_kinds = kind;
    strcpy(struck_path, looked_at);
    return 1;
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))
#define FAIL_IF(kind, concerns) \
    if (armed && fails(kind, concerns)) { errno = fault; return -1; }

#define OPENS(name) \
    int name(const char *path, int flags, ...) { \
        va_list rest; va_start(rest, flags); mode_t mode = va_arg(rest, mode_t); va_end(rest); \
        FAIL_IF(flags & O_CREAT ? MAKE | OPEN : OPEN, of_path(AT_FDCWD, path)) \
        return REAL(name)(path, flags, mode); \
    }
OPENS(open)
OPENS(open64)

#define OPENS_AT(name) \
    int name(int at, const char *path, int flags, ...) { \
        va_list rest; va_start(rest, flags); mode_t mode = va_arg(rest, mode_t); va_end(rest); \
        FAIL_IF(flags & O_CREAT ? MAKE | OPEN : OPEN, of_path(at, path)) \
        return REAL(name)(at, path, flags, mode); \
    }
OPENS_AT(openat)
OPENS_AT(openat64)

/* Which files were written since they were synced; where there are too many, all count as such. */
static char unsaved[64][PATH_MAX];
static int too_many;

static char *unsaved_as(const char *path) {
    for (int i = 0; i < 64; i++)
        if (strcmp(unsaved[i], path) == 0) return unsaved[i];
    return NULL;
}

static void soil(const char *path) {
    char *place = unsaved_as(path) ? NULL : unsaved_as("");
    if (place) strcpy(place, path);
    else too_many |= !unsaved_as(path);
}

/* A write without an error number is cut short instead. */
static int cut(size_t *size, int concerns) {
    if (armed && concerns) soil(looked_at);
    if (!armed || !fails(WRITE, concerns)) return 0;
    if (fault) { errno = fault; return -1; }
    if (*size > 1) *size /= 2;
    return 0;
}

ssize_t write(int fd, const void *data, size_t size) {
    if (cut(&size, armed && of_fd(fd))) return -1;
    return REAL(write)(fd, data, size);
}

#define WRITES_AT(name, offset) \
    ssize_t name(int fd, const void *data, size_t size, offset at) { \
        if (cut(&size, armed && of_fd(fd))) return -1; \
        return REAL(name)(fd, data, size, at); \
    }
WRITES_AT(pwrite, off_t)
WRITES_AT(pwrite64, off64_t)

ssize_t read(int fd, void *data, size_t size) {
    FAIL_IF(READ, of_fd(fd))
    return REAL(read)(fd, data, size);
}

#define READS_AT(name, offset) \
    ssize_t name(int fd, void *data, size_t size, offset at) { \
        FAIL_IF(READ, of_fd(fd)) \
        return REAL(name)(fd, data, size, at); \
    }
READS_AT(pread, off_t)
READS_AT(pread64, off64_t)

/* What a sync failed of, by a descriptor that takes no lock along: it may have another name later, or none. */
static int lost = -1;
static char lost_name[PATH_MAX];

static int is_in(const char *path, const char *above) {
    size_t size = strlen(above);
    return strncmp(path, above, size) == 0 && path[size] == '/' && !strchr(path + size + 1, '/');
}

const char *unsynced(void) {
    static char path[PATH_MAX];
    if (lost < 0 || !name_of(lost, path)) return "";
    return is_in(lost_name, path) ? lost_name : path;
}

static int is_lost(int fd) {
    char path[PATH_MAX], other[PATH_MAX];
    return name_of(fd, path) && name_of(lost, other) && strcmp(path, other) == 0;
}

/* A file that was not written since it was synced has nothing to lose. */
static void lose(int fd) {
    char name[64], path[PATH_MAX];
    snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
    lost = syscall(SYS_openat, AT_FDCWD, name, O_PATH | O_CLOEXEC | O_DIRECTORY);
    if (lost < 0 && name_of(fd, path) && (too_many || unsaved_as(path)))
        lost = syscall(SYS_openat, AT_FDCWD, name, O_PATH | O_CLOEXEC);
    strcpy(lost_name, named_last);
}

static void save(int fd) {
    char path[PATH_MAX], *place = name_of(fd, path) ? unsaved_as(path) : NULL;
    if (place) place[0] = 0;
    if (lost >= 0 && is_lost(fd)) {
        syscall(SYS_close, lost);
        lost = -1;
    }
}

#define SYNCS(name) \
    int name(int fd) { \
        if (armed && fails(SYNC, of_fd(fd))) { lose(fd); errno = fault; return -1; } \
        int ended = REAL(name)(fd); \
        if (armed && ended == 0) save(fd); \
        return ended; \
    }
SYNCS(fsync)
SYNCS(fdatasync)

#define SIZES(name, offset) \
    int name(int fd, offset size) { FAIL_IF(SIZE, of_fd(fd)) return REAL(name)(fd, size); }
SIZES(ftruncate, off_t)
SIZES(ftruncate64, off64_t)

int rename(const char *old, const char *new) {
    FAIL_IF(NAME, names(AT_FDCWD, new))
    return REAL(rename)(old, new);
}
int renameat(int from, const char *old, int to, const char *new) {
    FAIL_IF(NAME, names(to, new))
    return REAL(renameat)(from, old, to, new);
}
int renameat2(int from, const char *old, int to, const char *new, unsigned int flags) {
    FAIL_IF(NAME, names(to, new))
    return REAL(renameat2)(from, old, to, new, flags);
}
int link(const char *old, const char *new) {
    FAIL_IF(NAME, names(AT_FDCWD, new))
    return REAL(link)(old, new);
}
int linkat(int from, const char *old, int to, const char *new, int flags) {
    FAIL_IF(NAME, names(to, new))
    return REAL(linkat)(from, old, to, new, flags);
}
int unlink(const char *path) {
    FAIL_IF(NAME, names(AT_FDCWD, path))
    return REAL(unlink)(path);
}
int unlinkat(int at, const char *path, int flags) {
    FAIL_IF(NAME, names(at, path))
    return REAL(unlinkat)(at, path, flags);
}
int mkdir(const char *path, mode_t mode) {
    FAIL_IF(NAME, names(AT_FDCWD, path))
    return REAL(mkdir)(path, mode);
}
int mkdirat(int at, const char *path, mode_t mode) {
    FAIL_IF(NAME, names(at, path))
    return REAL(mkdirat)(at, path, mode);
}

/* What was closed is closed, whatever the answer is. */
int close(int fd) {
    int concerns = armed && of_fd(fd), ended = REAL(close)(fd);
    FAIL_IF(CLOSE, concerns)
    return ended;
}
int flock(int fd, int how) {
    FAIL_IF(LOCK, of_fd(fd))
    return REAL(flock)(fd, how);
}

/* As SQLite locks; what else these calls do, and giving a lock back, does not fail so. */
static int is_lock(int how, const struct flock *lock) {
    return (how == F_SETLK || how == F_SETLKW || how == F_OFD_SETLK || how == F_OFD_SETLKW) && lock->l_type != F_UNLCK;
}
#define CONTROLS(name) \
    int name(int fd, int how, ...) { \
        va_list rest; va_start(rest, how); void *more = va_arg(rest, void *); va_end(rest); \
        FAIL_IF(LOCK, is_lock(how, more) && of_fd(fd)) \
        return REAL(name)(fd, how, more); \
    }
CONTROLS(fcntl)
CONTROLS(fcntl64)

int fchmod(int fd, mode_t mode) {
    FAIL_IF(NAME, of_fd(fd))
    return REAL(fchmod)(fd, mode);
}

/* Folders are read by calls that libc makes itself. */
DIR *opendir(const char *path) {
    if (armed && fails(LIST, of_path(AT_FDCWD, path))) { errno = fault; return NULL; }
    return REAL(opendir)(path);
}
#define LISTS(name, entry) \
    struct entry *name(DIR *of) { \
        if (armed && fails(LOOK, of_fd(dirfd(of)))) { errno = fault; return NULL; } \
        return REAL(name)(of); \
    }
LISTS(readdir, dirent)
LISTS(readdir64, dirent64)

#define LOOKS(name, kind) \
    int name(const char *path, struct kind *found) { \
        FAIL_IF(LOOK, of_path(AT_FDCWD, path)) \
        return REAL(name)(path, found); \
    }
LOOKS(stat, stat)
LOOKS(stat64, stat64)
LOOKS(lstat, stat)
LOOKS(lstat64, stat64)

#define LOOKS_AT(name, kind) \
    int name(int at, const char *path, struct kind *found, int flags) { \
        FAIL_IF(LOOK, of_path(at, path)) \
        return REAL(name)(at, path, found, flags); \
    }
LOOKS_AT(fstatat, stat)
LOOKS_AT(fstatat64, stat64)
#define LOOKS_FD(name, kind) \
    int name(int fd, struct kind *found) { FAIL_IF(LOOK, of_fd(fd)) return REAL(name)(fd, found); }
LOOKS_FD(fstat, stat)
LOOKS_FD(fstat64, stat64)
