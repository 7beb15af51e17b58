/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Whether a machine that was told a file's attributes from the cache was told
 * wrongly, by those that the server has next.
 */
#include "cache/attrcache.h"

#include "cache/caches_fixture.h"

static const struct machine machine = {.own = 1};

/* The server says the attributes; a second later it confirms them, where
 * `firm`, so that no change may have the same ctime; the machine is told them
 * from the cache; then the server has others. */
static enum attr_told told(struct world *w, const char *fh, const fattr3 *was,
    bool firm, uint64_t size, uint32_t ctime)
{
	struct attrcache *ac = w->caches->attr;
	fattr3 is = *was;

	say_getattr(w, fh, was);
	if (firm) {
		w->now_us += S;
		say_getattr(w, fh, was);
	}
	attrcache_tell(ac, node_of(w, fh), machine, NULL,
	    attrcache_sent(ac, node_of(w, fh)), w->now_us);
	w->now_us += S;
	is.size = size;
	is.ctime.seconds = is.mtime.seconds = ctime;
	say_getattr(w, fh, &is);
	return attrcache_told(node_of(w, fh), machine);
}

/* Each file was told with 100 bytes and the ctime 50. An earlier ctime ends
 * what is believed of the server's clock, so those come last. */
static const struct {
	const char *what;
	bool firm;
	uint64_t size;
	uint32_t ctime;
	enum attr_told told;
} rows[] = {
    {"replaced", true, 90, 51, ATTR_TOLD_WRONGLY},
    {"replaced within a tick", false, 90, 50, ATTR_TOLD_WRONGLY},
    {"appended to within a tick", true, 110, 50, ATTR_TOLD_WRONGLY},
    {"a crash lost the bytes", true, 90, 50, ATTR_TOLD_FROM_OLD},
    {"appended to by a clock set back", true, 110, 49, ATTR_TOLD_WRONGLY},
    {"a crash lost the bytes and the time", true, 90, 49, ATTR_TOLD_FROM_OLD},
};

FIXTURE(struct world, setup, teardown);

TEST(test_told, struct world *w)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		fattr3 was = attr_of(NF3REG, 20 + i, 50);
		char fh[8];

		snprintf(fh, sizeof(fh), "file-%zu", i);
		if (told(w, fh, &was, rows[i].firm, rows[i].size,
			rows[i].ctime) != rows[i].told)
			fail_msg("%s", rows[i].what);
	}
}
