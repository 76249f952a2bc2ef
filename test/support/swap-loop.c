/*
 * Lets two names change places, as fast as it can, until it is told to end: `swap-loop FIRST SECOND`. With a folder and
 * a symbolic link, each name leads to the one and to the other in turn, and is never missing. Prints how often.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef RENAME_EXCHANGE
#define RENAME_EXCHANGE (1 << 1)
#endif

static volatile sig_atomic_t ended;

static void end(int signal) {
  (void)signal;
  ended = 1;
}

int main(int count, char **names) {
  if (count != 3) return 2;
  signal(SIGTERM, end);
  pid_t parent = getppid();
  long swaps = 0;
  while (!ended && getppid() == parent) {
    if (syscall(SYS_renameat2, AT_FDCWD, names[1], AT_FDCWD, names[2], RENAME_EXCHANGE) != 0) {
      perror("renameat2");
      return 1;
    }
    swaps++;
    /* The other side needs the disk, too. */
    usleep(20);
  }
  printf("%ld\n", swaps);
  return 0;
}
