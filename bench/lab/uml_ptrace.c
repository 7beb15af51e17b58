/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * LD_PRELOAD shim for linux.uml 6.1 on CPUs with AMX.
 *
 * UML saves and restores the floating-point state of its processes with
 * PTRACE_{GET,SET}REGSET(NT_X86_XSTATE) in a buffer that has no room for
 * the AMX tiles (8 KiB).  GETREGSET cuts the state short, SETREGSET refuses
 * the short buffer, and the guest dies: "ptrace set fp regs failed".
 *
 * Where SETREGSET fails, the whole state is read, the caller's part is put
 * over its start, the tiles (XTILECFG and XTILEDATA, bits 17 and 18 of the
 * xstate_bv in the XSAVE header) are declared unused, and all is written.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/types.h>
#include <sys/uio.h>

#define XSTATE_MAX       65536
#define XSTATE_BV_OFFSET 512 /* Intel SDM volume 1, 13.4.2 */
#define XTILE_BITS       ((UINT64_C(1) << 17) | (UINT64_C(1) << 18))

typedef long ptrace_fn(int, pid_t, void *, void *);

static long set_whole(
    ptrace_fn *real, pid_t pid, void *addr, const struct iovec *part)
{
	static _Alignas(64) char buf[XSTATE_MAX];
	struct iovec whole = {buf, sizeof(buf)};
	uint64_t bv;

	if (real(PTRACE_GETREGSET, pid, addr, &whole) < 0)
		return -1;
	if (part->iov_len > whole.iov_len ||
	    whole.iov_len < XSTATE_BV_OFFSET + sizeof(bv)) {
		errno = EFAULT;
		return -1;
	}
	memcpy(buf, part->iov_base, part->iov_len);
	memcpy(&bv, buf + XSTATE_BV_OFFSET, sizeof(bv));
	bv &= ~XTILE_BITS;
	memcpy(buf + XSTATE_BV_OFFSET, &bv, sizeof(bv));
	return real(PTRACE_SETREGSET, pid, addr, &whole);
}

long ptrace(enum __ptrace_request req, ...)
{
	static ptrace_fn *real;
	va_list ap;
	pid_t pid;
	void *addr, *data;
	long rc;

	va_start(ap, req);
	pid = va_arg(ap, pid_t);
	addr = va_arg(ap, void *);
	data = va_arg(ap, void *);
	va_end(ap);
	if (!real)
		real = (ptrace_fn *)dlsym(RTLD_NEXT, "ptrace");
	rc = real((int)req, pid, addr, data);
	if (rc < 0 && (int)req == PTRACE_SETREGSET &&
	    (uintptr_t)addr == NT_X86_XSTATE)
		rc = set_whole(real, pid, addr, data);
	return rc;
}
