/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names of objects: found a part at a time, while names come and go. */
#include "unittest.h"
#include "cache/caches.h"
#include "config/config.h"
#include "explain/objnames.h"
#include "nfsproto/nfs3_object.h"

enum { FILES = 5000 };

static const struct user root = {0};
static const struct user alice = {.uid = 1000, .gid = 1000};
static const uint64_t T0 = UINT64_C(1) << 40;

static struct config_server config;

static struct caches *open_caches(void)
{
	struct caches *c = caches_new(&config, NULL, 64 << 20, NULL);

	assert_non_null(c);
	return c;
}

static nfs3_fh handle(char buf[16], unsigned i)
{
	return (nfs3_fh){
	    .data = buf, .len = (uint32_t)snprintf(buf, 16, "file %06u", i)};
}

static struct node *directory(struct caches *c)
{
	const nfs3_fh fh = {.data = "dir", .len = 3};

	return attrcache_get(c->attr, &fh);
}

static void bind_file(struct caches *c, unsigned i)
{
	char buf[16], text[16];
	nfs3_fh fh = handle(buf, i);
	nfs3_name name = {.data = text,
	    .len = (uint32_t)snprintf(text, sizeof(text), "n%u", i)};

	namecache_bind(c->names, directory(c), &name,
	    attrcache_get(c->attr, &fh), T0, true);
}

static uint64_t object(unsigned i)
{
	char buf[16];
	nfs3_fh fh = handle(buf, i);

	return fh_key(&fh);
}

static struct objnames *wanted(void)
{
	struct objnames *on = objnames_new(8);

	assert_non_null(on);
	for (unsigned i = 0; i < FILES; i += FILES / 8)
		objnames_add(on, object(i));
	objnames_add(on, object(0));
	return on;
}

static void assert_named(const struct objnames *on, unsigned i)
{
	char text[16];

	snprintf(text, sizeof(text), "n%u", i);
	assert_non_null(objnames_find(on, object(i)));
	assert_string_equal(objnames_find(on, object(i)), text);
}

/* No step looks at more than it was told to. */
TEST(test_steps)
{
	struct caches *c = AFTER(caches_free, open_caches());
	struct objnames *on = AFTER(objnames_free, wanted());
	unsigned steps = 0;

	for (unsigned i = 0; i < FILES; i++)
		bind_file(c, i);
	while (!objnames_step(on, c, &root, T0, 10))
		steps++;
	assert_true(steps >= FILES / 10 / 2);
	for (unsigned i = 0; i < FILES; i += FILES / 8)
		assert_named(on, i);
	assert_null(objnames_find(on, object(1)));
	assert_int_equal(objnames_dir(on, object(1)), 0);
	assert_int_not_equal(objnames_dir(on, object(0)), 0);
}

/* The table grows under the walk: what was there is found. */
TEST(test_growth)
{
	struct caches *c = AFTER(caches_free, open_caches());
	struct objnames *on = AFTER(objnames_free, wanted());
	unsigned more = FILES;

	for (unsigned i = 0; i < FILES; i++)
		bind_file(c, i);
	while (!objnames_step(on, c, &root, T0, 50))
		for (unsigned i = 0; i < 40; i++)
			bind_file(c, more++);
	for (unsigned i = 0; i < FILES; i += FILES / 8)
		assert_named(on, i);
}

/* Everything is forgotten between two steps, and other things come. */
TEST(test_flush)
{
	struct caches *c = AFTER(caches_free, open_caches());
	struct objnames *on = AFTER(objnames_free, wanted());

	for (unsigned i = 0; i < FILES; i++)
		bind_file(c, i);
	assert_false(objnames_step(on, c, &root, T0, 100));
	caches_flush(c);
	for (unsigned i = 0; i < FILES; i++)
		bind_file(c, FILES + i);
	while (!objnames_step(on, c, &root, T0, 100))
		;
	for (unsigned i = 0; i < FILES; i += FILES / 8) {
		char text[16];
		const char *name = objnames_find(on, object(i));

		snprintf(text, sizeof(text), "n%u", i);
		assert_true(!name || strcmp(name, text) == 0);
	}
}

/* Whether alice is told the name of a file so long after `T0`. */
static bool is_told(struct caches *c, uint64_t after_us)
{
	struct objnames *on = wanted();
	bool told;

	while (!objnames_step(on, c, &alice, T0 + after_us, 100))
		;
	told = objnames_find(on, object(0)) != NULL;
	objnames_free(on);
	return told;
}

TEST(test_rights)
{
	struct caches *c = AFTER(caches_free, open_caches());
	char body[RPC_AUTH_BODY_MAX];
	struct rpc_cred cred;
	uint32_t id = user_cred(c, &alice, &cred, body);

	config.policy.grant_timeout_us = 1000;
	bind_file(c, 0);
	assert_false(is_told(c, 0));
	/* That the server told her of it is no right to search it. */
	accesscache_set_answered(c->access, directory(c), id, false, T0);
	assert_false(is_told(c, 0));
	accesscache_set_answered(c->access, directory(c), id, true, T0);
	assert_true(is_told(c, 1000));
	/* It may have been taken away since. */
	assert_false(is_told(c, 1001));
	accesscache_set_access(c->access, directory(c), id, ACCESS3_LOOKUP,
	    ACCESS3_LOOKUP, T0 + 500);
	assert_true(is_told(c, 1500));
	assert_false(is_told(c, 1501));
}
