/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * These functions act as the modules of a server in the tests of control; the
 * linker puts them in the place of the daemon's (tests/CMakeLists.txt). A
 * module is the fixture itself.
 */
#include <errno.h>
#include <unistd.h>
#include "unittest.h"
#include "cache/caches.h"
#include "control/control_fixture.h"
#include "control/control_modules.h"
#include "datacache/compact.h"
#include "explain/explain.h"
#include "explain/objnames.h"
#include "hint/hint.h"
#include "predictor/predictor.h"
#include "prefetch/prefetch.h"
#include "warm/warm.h"

int __wrap_compact_begin(struct compact *c)
{
	struct fixture *fx = (struct fixture *)c;

	strcat(fx->flushed, "compact ");
	strcat(fx->flushed, fx->server);
	strcat(fx->flushed, " ");
	return fx->flush_error;
}

bool __wrap_compact_busy(const struct compact *c)
{
	return ((const struct fixture *)c)->compact_busy;
}

/* A walk is the fixture itself. */
struct warm_walk *__wrap_warm_begin(struct warm *wm, const struct user *who,
    const char *export, const char *path, bool data)
{
	struct fixture *fx = (struct fixture *)wm;
	size_t len;

	(void)export;
	(void)path;
	assert_int_equal(who->uid, geteuid());
	errno = fx->place_error;
	if (errno)
		return NULL;
	len = strlen(fx->place);
	snprintf(fx->place + len, sizeof(fx->place) - len, " %s",
	    data ? "data" : "metadata");
	fx->walks++;
	return (struct warm_walk *)wm;
}

void __wrap_warm_get_progress(
    const struct warm_walk *walk, struct warm_progress *out)
{
	assert_true(((const struct fixture *)walk)->walks > 0);
	out->state = WARM_FAILED;
	out->status = 13;
	out->files = 1;
	out->left = UINT64_MAX;
}

void __wrap_warm_end(struct warm_walk *walk)
{
	((struct fixture *)walk)->walks--;
}

/* None begins: tests/unit/hint/test_hint.c and tests/hostile/ahead/test_hint.py
 * have what comes of one. */
struct hint_stream *__wrap_hint_begin(struct hints *h, const struct user *who,
    const char *export, const char *path)
{
	(void)export;
	(void)path;
	assert_int_equal(who->uid, geteuid());
	errno = ((struct fixture *)h)->place_error;
	return NULL;
}

void __wrap_explain(struct caches *c, struct prefetch *pf,
    const struct user *user, const char *export, const char *path,
    uint64_t now_us, struct explain *out)
{
	assert_ptr_equal(c, pf);
	assert_int_equal(user->uid, geteuid());
	(void)export;
	(void)path;
	(void)now_us;
	out->found = EXPLAIN_ABSENT;
	out->consistency = "frozen";
	out->attr_age_us = UINT64_MAX;
	out->told = (struct prefetch_told){
	    .predicted = true, .state = "used", .source = "tree", .p = 0.5};
}

enum forget_found __wrap_forget_begin(struct forget *f, struct caches *c,
    const char *export, const char *path, uint64_t now_us)
{
	(void)c;
	(void)export;
	(void)now_us;
	f->objects = *path ? 3 : 0;
	return *path ? FORGET_OBJECT : FORGET_UNMOUNTED;
}

/* It takes three turns. */
bool __wrap_forget_step(struct forget *f, uint64_t now_us)
{
	(void)now_us;
	return ++f->passes < 3;
}

struct predictor *__wrap_prefetch_predictor(struct prefetch *pf)
{
	return ((struct fixture *)pf)->predictor;
}

void __wrap_prefetch_edited(struct prefetch *pf)
{
	((struct fixture *)pf)->changed++;
}

bool __wrap_prefetch_loads(const struct prefetch *pf)
{
	return ((const struct fixture *)pf)->loads;
}

int __wrap_prefetch_clear(struct prefetch *pf)
{
	((struct fixture *)pf)->changed++;
	return predictor_clear(((struct fixture *)pf)->predictor);
}

/* One in a turn. */
bool __wrap_objnames_step(struct objnames *on, struct caches *c,
    const struct user *user, uint64_t now_us, size_t steps)
{
	const struct fixture *fx = (const struct fixture *)c;
	uint64_t object;

	(void)user;
	(void)now_us;
	(void)steps;
	if (fx->names_wait)
		return false;
	for (size_t i = 0; objnames_at(on, i, &object); i++) {
		if (objnames_find(on, object))
			continue;
		objnames_set(on, object, "name\n", 5);
		return false;
	}
	return true;
}
