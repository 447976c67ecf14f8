/* Makes the n-th call of the system fail, for files below one directory.
 *
 * Preloaded into a process, it stands between the program and the C library. It is told what to do by
 * opening names that do not exist:
 *
 *   /fault!/root//some/dir          files below it are watched from now on
 *   /fault!/arm/KIND/N/ERRNO        the N-th call of that kind (from 1) fails with ERRNO, or misbehaves
 *   /fault!/off                     nothing fails any more
 *   /fault!/told                    a file that says which path was hit; not there when nothing was
 *
 * KIND is one of: read (the call fails), end (the file seems to end there), short (every read gives one
 * byte), interrupt (every second read is interrupted), open, list, entry, stat, resolve (the call fails),
 * and what happens to a file just before it is opened for the N-th time: cut (to its half), empty, vanish,
 * grow (by its own second half), fifo (it is replaced by one). cutread cuts it before the N-th read.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILES 65536

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char root[PATH_MAX];
static char kind[32];
static long left;
static int failure;
static char hit[PATH_MAX];
static char *paths[FILES];
static char ended[FILES];
static unsigned long reads;

#define REAL(name) ({ static __typeof__(&name) real; if (!real) real = dlsym(RTLD_NEXT, #name); real; })

static int watched(const char *path) {
    size_t n = strlen(root);
    return n > 0 && path && strncmp(path, root, n) == 0 && (path[n] == '/' || path[n] == 0);
}

/* Whether it is the turn of this call; remembers the path. Under the lock. */
static int due(const char *what, const char *path) {
    if (strcmp(kind, what) != 0 || left <= 0 || --left > 0) return 0;
    snprintf(hit, sizeof hit, "%s", path);
    return 1;
}

static int command(const char *text) {
    pthread_mutex_lock(&lock);
    int result = -1;
    errno = ENOENT;
    if (strncmp(text, "root/", 5) == 0) {
        snprintf(root, sizeof root, "%s", text + 5);
    } else if (strncmp(text, "arm/", 4) == 0) {
        hit[0] = 0;
        reads = 0;
        memset(ended, 0, sizeof ended);
        sscanf(text + 4, "%31[^/]/%ld/%d", kind, &left, &failure);
    } else if (strcmp(text, "off") == 0) {
        kind[0] = 0;
    } else if (strcmp(text, "told") == 0 && hit[0]) {
        result = memfd_create("told", 0);
        if (result >= 0 && write(result, hit, strlen(hit)) >= 0) lseek(result, 0, SEEK_SET);
    }
    if (result < 0) errno = ENOENT;
    pthread_mutex_unlock(&lock);
    return result;
}

static off_t size_of(const char *path) {
    int fd = REAL(open64)(path, O_RDONLY | O_NONBLOCK);
    if (fd < 0) return 0;
    off_t size = lseek(fd, 0, SEEK_END);
    REAL(close)(fd);
    return size;
}

/* What happens to a file before it is opened. Under the lock. */
static void befall(const char *path) {
    if (due("cut", path)) {
        if (truncate(path, size_of(path) / 2)) {}
    } else if (due("empty", path)) {
        if (truncate(path, 0)) {}
    } else if (due("vanish", path)) {
        unlink(path);
    } else if (due("fifo", path)) {
        unlink(path);
        mkfifo(path, 0644);
    } else if (due("grow", path)) {
        off_t size = size_of(path), half = size / 2;
        char *bytes = malloc(size - half + 1);
        int fd = REAL(open64)(path, O_RDWR | O_APPEND);
        if (bytes && fd >= 0) {
            ssize_t n = REAL(pread64)(fd, bytes, size - half, half);
            if (n > 0 && write(fd, bytes, n)) {}
        }
        if (fd >= 0) REAL(close)(fd);
        free(bytes);
    }
}

static int opened(int fd, const char *path) {
    if (fd >= 0 && fd < FILES) {
        pthread_mutex_lock(&lock);
        free(paths[fd]);
        paths[fd] = watched(path) ? strdup(path) : NULL;
        ended[fd] = 0;
        pthread_mutex_unlock(&lock);
    }
    return fd;
}

static int before_open(const char *path, int flags) {
    if (strncmp(path, "/fault!/", 8) == 0) return 2;
    struct stat64 about;
    if (!watched(path) || (flags & O_DIRECTORY) || (stat64(path, &about) == 0 && S_ISDIR(about.st_mode))) return 0;
    pthread_mutex_lock(&lock);
    int fails = due("open", path);
    if (!fails) befall(path);
    pthread_mutex_unlock(&lock);
    return fails;
}

#define OPEN(name)                                                  \
    int name(const char *path, int flags, ...) {                    \
        va_list rest;                                               \
        va_start(rest, flags);                                      \
        mode_t mode = (flags & (O_CREAT | O_TMPFILE)) ? va_arg(rest, mode_t) : 0; \
        va_end(rest);                                               \
        int fails = before_open(path, flags);                       \
        if (fails == 2) return command(path + 8);                   \
        if (fails) {                                                \
            errno = failure;                                        \
            return -1;                                              \
        }                                                           \
        return opened(REAL(name)(path, flags, mode), path);         \
    }
OPEN(open)
OPEN(open64)

int close(int fd) {
    if (fd >= 0 && fd < FILES) {
        pthread_mutex_lock(&lock);
        free(paths[fd]);
        paths[fd] = NULL;
        pthread_mutex_unlock(&lock);
    }
    return REAL(close)(fd);
}

/* How many bytes may be read; -1 for a failure. */
static ssize_t allowed(int fd, size_t size) {
    ssize_t result = size;
    if (fd < 0 || fd >= FILES) return result;
    pthread_mutex_lock(&lock);
    if (paths[fd]) {
        if (due("read", paths[fd])) {
            errno = failure;
            result = -1;
        } else if (due("end", paths[fd])) {
            ended[fd] = 1;
        } else if (due("cutread", paths[fd])) {
            if (truncate(paths[fd], size_of(paths[fd]) / 2)) {}
        } else if (strcmp(kind, "short") == 0) {
            result = size > 0;
        } else if (strcmp(kind, "interrupt") == 0 && ++reads % 2) {
            errno = EINTR;
            result = -1;
        }
        if (ended[fd] && result > 0) result = 0;
    }
    pthread_mutex_unlock(&lock);
    return result;
}

ssize_t read(int fd, void *buffer, size_t size) {
    ssize_t most = allowed(fd, size);
    return most <= 0 && size > 0 ? most : REAL(read)(fd, buffer, most);
}

ssize_t pread64(int fd, void *buffer, size_t size, off64_t at) {
    ssize_t most = allowed(fd, size);
    return most <= 0 && size > 0 ? most : REAL(pread64)(fd, buffer, most, at);
}

ssize_t pread(int fd, void *buffer, size_t size, off_t at) {
    ssize_t most = allowed(fd, size);
    return most <= 0 && size > 0 ? most : REAL(pread)(fd, buffer, most, at);
}

static int fails(const char *what, const char *path) {
    if (!watched(path)) return 0;
    pthread_mutex_lock(&lock);
    int result = due(what, path);
    pthread_mutex_unlock(&lock);
    if (result) errno = failure;
    return result;
}

/* Directories that are being listed, so that reading on can fail. */
static struct { DIR *dir; char path[PATH_MAX]; } listed[64];

DIR *opendir(const char *path) {
    if (fails("list", path)) return NULL;
    DIR *dir = REAL(opendir)(path);
    if (dir && watched(path)) {
        pthread_mutex_lock(&lock);
        for (size_t i = 0; i < 64; i++) {
            if (!listed[i].dir) {
                listed[i].dir = dir;
                snprintf(listed[i].path, sizeof listed[i].path, "%s", path);
                break;
            }
        }
        pthread_mutex_unlock(&lock);
    }
    return dir;
}

int closedir(DIR *dir) {
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < 64; i++) if (listed[i].dir == dir) listed[i].dir = NULL;
    pthread_mutex_unlock(&lock);
    return REAL(closedir)(dir);
}

struct dirent64 *readdir64(DIR *dir) {
    int result = 0;
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < 64; i++) if (listed[i].dir == dir) result = due("entry", listed[i].path);
    pthread_mutex_unlock(&lock);
    if (result) {
        errno = failure;
        return NULL;
    }
    return REAL(readdir64)(dir);
}

int statx(int at, const char *path, int flags, unsigned int mask, struct statx *about) {
    /* Rust probes it with NULL, which the header promises the compiler never to be. */
    const char *volatile given = path;
    if (given && *given && fails("stat", path)) return -1;
    return REAL(statx)(at, path, flags, mask, about);
}

char *realpath(const char *path, char *resolved) {
    return fails("resolve", path) ? NULL : REAL(realpath)(path, resolved);
}
