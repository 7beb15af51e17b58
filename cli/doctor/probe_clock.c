/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds out by how much the server's clock differs from ours, which make(1) and
 * caches depend on. NFSv3 does not tell the time. Root may ask by ICMP (RFC
 * 792, "Timestamp"), which Linux answers unless a firewall drops it; and a file
 * that is made there has the server's time. */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/ip.h>
#include <netinet/ip_icmp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "doctor/probe_private.h"

/* WAIT_MS is for an answer to each of TRIES questions; ICMP counts milliseconds
 * of a day. */
enum {
	TRIES = 2,
	WAIT_MS = 1000,
	DAY_MS = 86400000,
};

/* The message of RFC 792, in network byte order. */
struct icmp_time {
	uint8_t type;
	uint8_t code;
	uint16_t sum;
	uint16_t id;
	uint16_t seq;
	uint32_t originate;
	uint32_t receive;
	/* Milliseconds since midnight UT, as are the two before it. */
	uint32_t transmit;
};

/* Our clock, which the server's is compared with. */
static int64_t realtime_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return (int64_t)ts.tv_sec * 1000000 + ts.tv_nsec / 1000;
}

/* The checksum of RFC 1071; the length is even. */
static uint16_t checksum(const void *data, size_t len)
{
	uint32_t sum = 0;
	uint16_t word;

	for (size_t i = 0; i + 1 < len; i += 2) {
		memcpy(&word, (const char *)data + i, 2);
		sum += word;
	}
	sum = (sum >> 16) + (sum & 0xffff);
	sum += sum >> 16;
	return (uint16_t)~sum;
}

/* Takes packets until one is the answer to our question: a raw socket gets
 * every ICMP message that comes to this machine. False after WAIT_MS. */
static bool receive_answer(
    int fd, const struct sockaddr_in *from, uint16_t seq, uint32_t *server_ms)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	uint64_t until = clock_now_us() + WAIT_MS * 1000, now;
	unsigned char buf[256];
	struct sockaddr_in sa;
	socklen_t sa_len;
	struct icmp_time ic;
	ssize_t n;
	size_t head;

	while ((now = clock_now_us()) < until) {
		if (poll(&p, 1, (int)((until - now) / 1000) + 1) <= 0)
			continue;
		sa_len = sizeof(sa);
		n = recvfrom(fd, buf, sizeof(buf), MSG_DONTWAIT,
		    (struct sockaddr *)&sa, &sa_len);
		head = n > 0 ? (size_t)(buf[0] & 15) * 4 : 0;
		if (n <= 0 || (size_t)n < head + sizeof(ic) ||
		    sa.sin_addr.s_addr != from->sin_addr.s_addr)
			continue;
		memcpy(&ic, buf + head, sizeof(ic));
		if (ic.type != ICMP_TIMESTAMPREPLY || ic.seq != htons(seq) ||
		    ic.id != htons((uint16_t)getpid()))
			continue;
		*server_ms = ntohl(ic.transmit);
		return true;
	}
	return false;
}

/* Asks once. The answer was made half a round trip ago, so it is compared with
 * the middle of the time between question and answer; differences are taken
 * around midnight. */
static bool ask_icmp(struct probe_facts *f, int fd, uint16_t seq)
{
	const struct sockaddr_in *to = (const void *)probe_addr(f);
	struct icmp_time ic = {.type = ICMP_TIMESTAMP,
	    .id = htons((uint16_t)getpid()),
	    .seq = htons(seq)};
	int64_t sent = realtime_us(), ours_ms, diff;
	uint32_t server_ms;

	ic.originate = htonl((uint32_t)(sent / 1000 % DAY_MS));
	ic.sum = checksum(&ic, sizeof(ic));
	if (sendto(fd, &ic, sizeof(ic), 0, (const struct sockaddr *)to,
		sizeof(*to)) != sizeof(ic) ||
	    !receive_answer(fd, to, seq, &server_ms))
		return false;
	/* The high bit: it is no time of day. */
	if (server_ms >= DAY_MS)
		return false;
	ours_ms = (sent + (realtime_us() - sent) / 2) / 1000 % DAY_MS;
	diff = (int64_t)server_ms - ours_ms;
	if (diff > DAY_MS / 2)
		diff -= DAY_MS;
	else if (diff < -DAY_MS / 2)
		diff += DAY_MS;
	f->clock_known = true;
	f->clock_us = diff * 1000;
	f->clock_by = "by ICMP";
	return true;
}

/* Only for IPv4 and for who may open a raw socket; nothing is known
 * otherwise. */
void probe_clock(struct probe_facts *f)
{
	int fd;

	if (f->naddr == 0 || probe_addr(f)->sa_family != AF_INET)
		return;
	fd = socket(AF_INET, SOCK_RAW | SOCK_CLOEXEC, IPPROTO_ICMP);
	if (fd < 0)
		return;
	for (uint16_t i = 1; i <= TRIES && clock_now_us() < f->until_us; i++)
		if (ask_icmp(f, fd, i))
			break;
	close(fd);
}

/* A directory of the server, as far as its path was followed. */
struct probe_dir {
	struct ask *a;
	unsigned char fh[NFS3_FHSIZE_MAX];
	uint32_t fh_len;
};

/* Goes to the directory of that name. False after an error, which is noted. */
static bool step_into(
    struct probe_facts *f, struct probe_dir *p, const char *name, size_t len)
{
	union nfs_args args = {
	    .dirop = {.dir = {p->fh_len, (char *)p->fh},
		.name = {.len = (uint32_t)len, .data = name}}};
	union nfs_res res;
	nfs3_fh *fh;

	f->write_step = "LOOKUP";
	f->write_err =
	    ask_proc(p->a, NFS_PROGRAM, NFSPROC3_LOOKUP, &args, &res);
	f->write_status = f->write_err ? 0 : res.status;
	if (f->write_err || res.status != NFS3_OK)
		return false;
	fh = &res.lookup.LOOKUP3res_u.resok.object;
	p->fh_len = fh->len;
	memcpy(p->fh, fh->data, fh->len);
	return true;
}

/* Follows a path, part by part. False after an error, which is noted. */
static bool walk(struct probe_facts *f, struct probe_dir *p, const char *dir)
{
	for (; *dir; dir += strcspn(dir, "/")) {
		dir += strspn(dir, "/");
		if (*dir && !step_into(f, p, dir, strcspn(dir, "/")))
			return false;
	}
	return true;
}

/* The server sets the ctime of a new file by its own clock (RFC 1813 section
 * 2.5, nfstime3); the owner that it gives root's file tells whether it squashes
 * root. */
static void compare(struct probe_facts *f, const fattr3 *attr, int64_t mid_us)
{
	f->clock_known = true;
	f->clock_us = (int64_t)attr->ctime.seconds * 1000000 +
		      attr->ctime.nseconds / 1000 - mid_us;
	f->clock_by = "by a file made there";
	if (geteuid() == 0)
		f->squash = attr->uid == 0 ? PROBE_SQUASH_NO : PROBE_SQUASH_YES;
}

/* Makes a file, looks at its times, and removes it. GUARDED has the server
 * refuse a name that exists (RFC 1813 section 3.3.8), so no file of a user is
 * touched. */
static void make_file(struct probe_facts *f, struct probe_dir *p)
{
	char name[64];
	union nfs_args args = {
	    .create = {.where = {.dir = {p->fh_len, (char *)p->fh}},
		.how = {.mode = GUARDED}}};
	sattr3 *attr = &args.create.how.createhow3_u.obj_attributes;
	int64_t before = realtime_us();
	union nfs_res res;
	newobj3resok *ok = &res.newobj.newobj3res_u.resok;

	snprintf(name, sizeof(name), ".forefetch-probe-%d-%llx", getpid(),
	    (unsigned long long)before);
	args.create.where.name =
	    (nfs3_name){.len = (uint32_t)strlen(name), .data = name};
	attr->mode.set_it = true;
	attr->mode.set_uint32_u.value = 0600;
	f->write_step = "CREATE";
	f->write_err =
	    ask_proc(p->a, NFS_PROGRAM, NFSPROC3_CREATE, &args, &res);
	f->write_status = f->write_err ? 0 : res.status;
	if (f->write_err || res.status != NFS3_OK)
		return;
	if (ok->obj_attributes.attributes_follow)
		compare(f, &ok->obj_attributes.post_op_attr_u.attributes,
		    before + (realtime_us() - before) / 2);
	args = (union nfs_args){
	    .dirop = {.dir = {p->fh_len, (char *)p->fh},
		.name = {.len = (uint32_t)strlen(name), .data = name}}};
	f->write_step = "REMOVE";
	f->write_err =
	    ask_proc(p->a, NFS_PROGRAM, NFSPROC3_REMOVE, &args, &res);
	f->write_status = f->write_err ? 0 : res.status;
	if (!f->write_err && res.status == NFS3_OK)
		f->write_step = NULL;
}

/* f->write_step names the step that failed, for the finding; NULL: none has. */
void probe_write(struct probe_facts *f, const char *dir)
{
	struct probe_dir p = {.fh_len = f->fh_len};

	if (f->fh_len == 0)
		return;
	memcpy(p.fh, f->fh, f->fh_len);
	f->write_step = "connecting";
	p.a = probe_open_nfs(f, &f->write_err);
	if (p.a && walk(f, &p, dir))
		make_file(f, &p);
	ask_close(p.a);
}
