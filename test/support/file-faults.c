/*
 * Loaded into a process before everything else, this counts what the process changes in some files, and at a chosen
 * change it ends the process or answers as a full or broken disk does. Linux only: it asks /proc for names.
 *
 * FAULTS_BELOW  what the paths of these files begin with
 * FAULTS_ON     which calls count: any of "write sync truncate unlink rename create read"
 * FAULTS_WHILE  a file: calls count only while it is there (absent: always)
 * FAULTS_AT     the number of the call that it happens at, the first is 1 (absent or 0: only count)
 * FAULTS_HOW    kill-before, kill-half, kill-after, ENOSPC or EIO
 * FAULTS_TIMES  for how many calls from there on; 0 for all (absent: 1)
 * FAULTS_LOG    a file that gets a line for each call that counts
 * OPENS_BELOW   what the paths of other files begin with, and
 * OPENS_LOG     a file that gets a line each time that one of them is opened for reading
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum outcome { PASS, HALF, KILL_AFTER, FAIL };

static const char *below, *on, *only_while, *how, *opens_below;
static long fault_at, fault_times;
static int log_fd = -1, opens_fd = -1;
static atomic_long counted;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static long number(const char *name, long otherwise) {
  const char *text = getenv(name);
  return text && *text ? atol(text) : otherwise;
}

static int log_file(const char *name) {
  const char *path = getenv(name);
  if (!path || !*path) return -1;
  return (int)syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
}

static void read_settings(void) {
  below = getenv("FAULTS_BELOW");
  on = getenv("FAULTS_ON");
  only_while = getenv("FAULTS_WHILE");
  how = getenv("FAULTS_HOW");
  fault_at = number("FAULTS_AT", 0);
  fault_times = number("FAULTS_TIMES", 1);
  log_fd = log_file("FAULTS_LOG");
  opens_below = getenv("OPENS_BELOW");
  opens_fd = log_file("OPENS_LOG");
}

static void note(int fd, long count, const char *call, const char *path) {
  char line[PATH_MAX + 64];
  int length = snprintf(line, sizeof line, "%ld %s %s\n", count, call, path);
  if (fd >= 0 && length > 0) syscall(SYS_write, fd, line, (size_t)length);
}

static void die(void) {
  syscall(SYS_kill, getpid(), SIGKILL);
  for (;;) pause();
}

static enum outcome judge_path(const char *call, const char *path) {
  pthread_once(&once, read_settings);
  if (!below || !on || !strstr(on, call) || strncmp(path, below, strlen(below)) != 0) return PASS;
  if (only_while && *only_while && syscall(SYS_faccessat, AT_FDCWD, only_while, F_OK) != 0) return PASS;
  long count = atomic_fetch_add(&counted, 1) + 1;
  note(log_fd, count, call, path);
  if (fault_at == 0 || count < fault_at || !how) return PASS;
  if (fault_times != 0 && count >= fault_at + fault_times) return PASS;
  if (strcmp(how, "kill-before") == 0) die();
  if (strcmp(how, "kill-half") == 0) return HALF;
  if (strcmp(how, "kill-after") == 0) return KILL_AFTER;
  errno = strcmp(how, "ENOSPC") == 0 ? ENOSPC : EIO;
  return FAIL;
}

static enum outcome judge_fd(const char *call, int fd) {
  pthread_once(&once, read_settings);
  if (!below || !on || !strstr(on, call)) return PASS;
  char name[64], path[PATH_MAX];
  snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
  ssize_t length = syscall(SYS_readlinkat, AT_FDCWD, name, path, sizeof path - 1);
  if (length <= 0) return PASS;
  path[length] = '\0';
  return judge_path(call, path);
}

#define REAL(name) \
  static __typeof__(&name) real; \
  if (!real) real = (__typeof__(&name))dlsym(RTLD_NEXT, #name)

/* What is left of a call: none of it, the first half, or all. */
#define CALL(judged, whole, half) \
  do { \
    enum outcome decided = (judged); \
    if (decided == FAIL) return -1; \
    if (decided == HALF) { \
      if (half) { } \
      die(); \
    } \
    __typeof__(whole) result = (whole); \
    if (decided == KILL_AFTER) die(); \
    return result; \
  } while (0)

ssize_t write(int fd, const void *data, size_t size) {
  REAL(write);
  CALL(judge_fd("write", fd), real(fd, data, size), real(fd, data, size / 2));
}

ssize_t pwrite(int fd, const void *data, size_t size, off_t at) {
  REAL(pwrite);
  CALL(judge_fd("write", fd), real(fd, data, size, at), real(fd, data, size / 2, at));
}

ssize_t pwrite64(int fd, const void *data, size_t size, off64_t at) {
  REAL(pwrite64);
  CALL(judge_fd("write", fd), real(fd, data, size, at), real(fd, data, size / 2, at));
}

ssize_t writev(int fd, const struct iovec *parts, int count) {
  REAL(writev);
  CALL(judge_fd("write", fd), real(fd, parts, count), real(fd, parts, (count + 1) / 2));
}

ssize_t pread(int fd, void *data, size_t size, off_t at) {
  REAL(pread);
  CALL(judge_fd("read", fd), real(fd, data, size, at), 0);
}

ssize_t pread64(int fd, void *data, size_t size, off64_t at) {
  REAL(pread64);
  CALL(judge_fd("read", fd), real(fd, data, size, at), 0);
}

int fsync(int fd) {
  REAL(fsync);
  CALL(judge_fd("sync", fd), real(fd), 0);
}

int fdatasync(int fd) {
  REAL(fdatasync);
  CALL(judge_fd("sync", fd), real(fd), 0);
}

int ftruncate(int fd, off_t size) {
  REAL(ftruncate);
  CALL(judge_fd("truncate", fd), real(fd, size), 0);
}

int ftruncate64(int fd, off64_t size) {
  REAL(ftruncate64);
  CALL(judge_fd("truncate", fd), real(fd, size), 0);
}

int unlink(const char *path) {
  REAL(unlink);
  CALL(judge_path("unlink", path), real(path), 0);
}

int rename(const char *from, const char *to) {
  REAL(rename);
  CALL(judge_path("rename", from), real(from, to), 0);
}

static enum outcome judge_open(const char *path, int flags) {
  pthread_once(&once, read_settings);
  if (opens_below && (flags & O_ACCMODE) == O_RDONLY && strncmp(path, opens_below, strlen(opens_below)) == 0) {
    struct stat64 found;
    if (stat64(path, &found) == 0 && S_ISREG(found.st_mode)) note(opens_fd, 0, "open", path);
  }
  if (!(flags & O_CREAT) || syscall(SYS_faccessat, AT_FDCWD, path, F_OK) == 0) return PASS;
  return judge_path("create", path);
}

static mode_t mode_of(int flags, va_list rest) {
  return flags & (O_CREAT | __O_TMPFILE) ? va_arg(rest, mode_t) : 0;
}

#define OPEN(name) \
  int name(const char *path, int flags, ...) { \
    va_list rest; \
    va_start(rest, flags); \
    mode_t mode = mode_of(flags, rest); \
    va_end(rest); \
    REAL(name); \
    CALL(judge_open(path, flags), real(path, flags, mode), 0); \
  }

OPEN(open)
OPEN(open64)

#define OPENAT(name) \
  int name(int folder, const char *path, int flags, ...) { \
    va_list rest; \
    va_start(rest, flags); \
    mode_t mode = mode_of(flags, rest); \
    va_end(rest); \
    REAL(name); \
    CALL(*path == '/' ? judge_open(path, flags) : PASS, real(folder, path, flags, mode), 0); \
  }

OPENAT(openat)
OPENAT(openat64)
