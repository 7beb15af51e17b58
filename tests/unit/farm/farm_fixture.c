/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Two machines: how they are made, and how their time passes. */
#include "farm/farm_fixture.h"

#include "base/clock.h"
#include "cache/known.h"

void write_key(const char *path, unsigned char first)
{
	unsigned char key[SEAL_KEY_FILE_BYTES];
	FILE *f = fopen(path, "w");

	for (unsigned i = 0; i < sizeof(key); i++)
		key[i] = (unsigned char)(first + i);
	assert_non_null(f);
	assert_int_equal(fwrite(key, sizeof(key), 1, f), 1);
	assert_int_equal(fclose(f), 0);
	assert_int_equal(chmod(path, 0600), 0);
}

void begin_farm(struct farm_machine *m, char *key_file, const char *address)
{
	char *url = (char *)"redis://127.0.0.1:6379", err[256];
	struct config_farm c = {.engine = {&url, 1},
	    .key_file = key_file,
	    .share = CONFIG_SHARE_DATA | CONFIG_SHARE_LISTINGS,
	    .publish_cap = 50 << 20};
	struct farm_server_params p = {.caches = m->w->caches,
	    .fetch = m->fetch,
	    .link = m->link,
	    .metrics = m->w->metrics,
	    .address = address};

	m->farm = farm_new(m->fx.base, &c, err, sizeof(err));
	if (!m->farm)
		fail_msg("%s", err);
	p.farm = m->farm;
	m->server = farm_server_new(&p);
	assert_non_null(m->server);
}

void end_farm(struct farm_machine *m)
{
	farm_server_free(m->server);
	farm_free(m->farm);
}

static void begin_machine(struct farm_machine *m, char *key_file)
{
	m->w = calloc(1, sizeof(*m->w));
	assert_non_null(m->w);
	setup(m->w);
	fixture_begin(&m->fx, 64 * MIB);
	caches_set_data(m->w->caches, m->fx.dc);
	m->link = linkest_new();
	m->fetch = fetch_new(NULL, NULL, m->w->metrics, m->link);
	begin_farm(m, key_file, "nas.example.org");
}

static void end_machine(struct farm_machine *m)
{
	end_farm(m);
	fetch_free(m->fetch);
	linkest_free(m->link);
	m->w->caches->data = NULL;
	fixture_end(&m->fx);
	teardown(m->w);
	free(m->w);
}

void begin_pair(struct pair *p)
{
	int fd;

	snprintf(p->key_file, sizeof(p->key_file), "/tmp/ff-farm-XXXXXX");
	fd = mkstemp(p->key_file);
	assert_true(fd >= 0);
	close(fd);
	write_key(p->key_file, 1);
	begin_machine(&p->a, p->key_file);
	begin_machine(&p->b, p->key_file);
}

void end_pair(struct pair *p)
{
	end_machine(&p->a);
	end_machine(&p->b);
	fake_clear();
	unlink(p->key_file);
}

void turn(struct farm_machine *m)
{
	event_base_loop(m->fx.base, EVLOOP_ONCE | EVLOOP_NONBLOCK);
}

/* Until so many values of the kind are in the engine. */
void until_published(struct farm_machine *m, char kind, unsigned n)
{
	while (fake_count_of(kind) < n)
		event_base_loop(m->fx.base, EVLOOP_ONCE);
}

void until_answered(struct farm_machine *m)
{
	while (!LIST_EMPTY(&m->server->data) ||
	       m->server->barren[FARM_DATA].probe.ask.call ||
	       m->server->barren[FARM_LISTING].probe.ask.call)
		turn(m);
}

void be_alone(struct farm_machine *m)
{
	(void)others_are_there(m->server, clock_now_us());
	while (m->server->others.ask.call)
		turn(m);
	m->server->others.seen_us = 0;
}

uint64_t counter(const struct farm_machine *m, enum metrics_counter c)
{
	return metrics_get(m->w->metrics, c);
}

/* Until all that waits was published, or left out. */
void until_quiet(struct farm_machine *m)
{
	while (
	    event_base_get_num_events(m->fx.base, EVENT_BASE_COUNT_ADDED) > 0 &&
	    publish_waiting(m->farm->publish) > 0)
		event_base_loop(m->fx.base, EVLOOP_ONCE);
}

void say_access(
    struct world *w, const char *fh, const fattr3 *a, uint32_t given)
{
	union nfs_args args = {
	    .access = {.object = fh_of(fh), .access = ACCESS_ALL}};
	union nfs_res res = {.status = NFS3_OK};
	ACCESS3resok *r = &res.access.ACCESS3res_u.resok;

	r->obj_attributes.attributes_follow = TRUE;
	r->obj_attributes.post_op_attr_u.attributes = *a;
	r->access = given;
	say(w, NFSPROC3_ACCESS, &args, &res, round_trip(w));
}

void be_somebody_else(struct world *w)
{
	struct rpc_auth_sys auth = {.uid = 2000, .gid = 2000};
	struct rpc_cred cred = {.flavor = AUTH_SYS};

	w->cred = caches_cred(w->caches, &cred, &auth);
}

/* ---- what a server says ------------------------------------------------ */

fattr3 big_attr(uint32_t ctime)
{
	fattr3 a = attr_of(NF3REG, 30, ctime);

	a.size = BIG;
	return a;
}

void say_big(struct farm_machine *m, uint32_t ctime)
{
	fattr3 a = big_attr(ctime);

	say_access(m->w, "big", &a, ACCESS3_READ);
}

void say_read(
    struct farm_machine *m, uint32_t ctime, uint64_t offset, uint32_t len)
{
	union nfs_args args = {
	    .read = {.file = fh_of("big"), .offset = offset, .count = len}};
	union nfs_res res = {.status = NFS3_OK};
	READ3resok *r = &res.read.READ3res_u.resok;
	struct rbuf *b = rbuf_get(m->fx.bufs, len);

	pattern_fill(b->data, 30, ctime, offset, len);
	r->file_attributes.attributes_follow = TRUE;
	r->file_attributes.post_op_attr_u.attributes = big_attr(ctime);
	r->count = len;
	r->data.len = len;
	r->data.data = (const char *)b->data;
	r->eof = offset + len == BIG;
	say(m->w, NFSPROC3_READ, &args, &res, round_trip(m->w));
	rbuf_unref(b);
}

void say_firm(
    struct farm_machine *m, uint32_t ctime, uint64_t offset, uint32_t len)
{
	say_big(m, ctime);
	m->w->now_us += 1 * S;
	say_read(m, ctime, offset, len);
}

bool has_big(struct farm_machine *m, uint64_t offset, uint32_t len)
{
	struct asker who = asker_now(m->w->caches, m->w->cred, m->w->now_us);
	struct data_version v;
	struct datacache_read rd;
	struct known k;

	known_node(&k, &who, node_of(m->w, "big"));
	rd = known_data(&k, &v, offset, len);
	return datacache_have(m->fx.dc, &rd) == len;
}
