/* calls.c - run a program under which one of its system calls fails (ptrace, x86-64 Linux).
 *
 *     calls NAME ERROR N PROGRAM ARGUMENTS..
 *
 * NAME: read write pwrite64 openat fsync rename mmap lseek newfstatat close flock ..; ERROR: a number of errno; 0: the call is made
 * with half of its bytes (read, write), at least one.  The N-th call of that name fails; N = 0: none does; N < 0: the |N|-th and all after it.
 * With N = 0 the last line of standard error is "calls: COUNT".  Counting begins when the loader has found the libraries.
 * Exit status: the program's, or 128 + its signal.
 *
 * SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

static const struct {
    const char *name;
    long number;
} names[] = {{"read", SYS_read},
             {"write", SYS_write},
             {"writev", SYS_writev},
             {"openat", SYS_openat},
             {"fsync", SYS_fsync},
             {"rename", SYS_rename},
             {"mmap", SYS_mmap},
             {"lseek", SYS_lseek},
             {"close", SYS_close},
             {"flock", SYS_flock},
             {"brk", SYS_brk},
             {"unlink", SYS_unlink},
             {"newfstatat", SYS_newfstatat},
             {"fchmod", SYS_fchmod},
             {"fchown", SYS_fchown},
             {"fcntl", SYS_fcntl},
             {"lstat", SYS_lstat},
             {"readlink", SYS_readlink},
             {"clone3", SYS_clone3},
             {"getdents64", SYS_getdents64}};

enum { THREADS = 256 };
static struct {
    pid_t pid;
    int inside; /* between entry and exit of a call */
    int spoil;  /* the result becomes -error */
} thread[THREADS];

static int find(pid_t pid)
{
    int i = 0;
    while (i < THREADS - 1 && thread[i].pid != pid && thread[i].pid != 0) i++;
    thread[i].pid = pid;
    return i;
}

int main(int argc, char **argv)
{
    long number = -1;
    if (argc < 5) return fprintf(stderr, "usage: calls NAME ERROR N PROGRAM ARGUMENTS..\n"), 2;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i].name, argv[1]) == 0) number = names[i].number;
    const int error = atoi(argv[2]);
    const long at = atol(argv[3]);
    if (number < 0) return fprintf(stderr, "calls: '%s' is not known\n", argv[1]), 2;
    const pid_t child = fork();
    if (child == 0) {
        ptrace(PTRACE_TRACEME, 0, 0, 0);
        raise(SIGSTOP);
        execv(argv[4], argv + 4);
        _exit(127);
    }
    int status, began = 0;
    long count = 0;
    if (waitpid(child, &status, 0) != child) return 2;
    ptrace(PTRACE_SETOPTIONS, child, 0,
           PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL);
    ptrace(PTRACE_SYSCALL, child, 0, 0);
    for (;;) {
        const pid_t pid = waitpid(-1, &status, __WALL);
        if (pid < 0) return 2;
        if (WIFEXITED(status) || WIFSIGNALED(status)) {
            if (pid != child) continue;
            if (at == 0) fprintf(stderr, "calls: %ld\n", count);
            return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
        }
        int pass = 0;
        const int stop = WSTOPSIG(status), i = find(pid);
        if (stop == (SIGTRAP | 0x80)) {
            struct user_regs_struct r;
            ptrace(PTRACE_GETREGS, pid, 0, &r);
            thread[i].inside = !thread[i].inside;
            if (thread[i].inside) {
                thread[i].spoil = 0;
                /* The C library asks for the size of the stack when all libraries are there. */
                if ((long)r.orig_rax == SYS_prlimit64) began = 1;
                if (began && (long)r.orig_rax == number) {
                    count++;
                    if ((at > 0 && count == at) || (at < 0 && count >= -at)) {
                        if (error) {
                            thread[i].spoil = 1;
                            r.orig_rax = (unsigned long long)-1;
                        } else if (r.rdx > 1) {
                            r.rdx /= 2;
                        }
                        ptrace(PTRACE_SETREGS, pid, 0, &r);
                    }
                }
            } else if (thread[i].spoil) {
                r.rax = (unsigned long long)-(long long)error;
                ptrace(PTRACE_SETREGS, pid, 0, &r);
                thread[i].spoil = 0;
            }
        } else if (stop != SIGTRAP && stop != SIGSTOP) {
            pass = stop;
        }
        ptrace(PTRACE_SYSCALL, pid, 0, pass);
    }
}
