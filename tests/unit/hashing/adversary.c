/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Fills hash tables with keys that somebody chose who knows the source but not
 * the secret of the process; tests/adversary counts the instructions.
 *
 *	adversary choose MODE >KEYS	2048 numbers for each table
 *	adversary fill <KEYS		makes keys of them, and does with each
 *					table what measure_TABLE() says
 *	adversary grow TABLE		step_TABLE(): one call, at the moment
 *					at which the table doubles, or is made
 *	adversary names N MODE		names of a directory …
 *	adversary trees N MODE >FILE	… and a file of access trees, for
 *					bench/stalls
 *
 * MODE is "ordinary"; "known", keys that lie together by the hash alone; or
 * "undrawn", such as lie together by the secret that every process begins with.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include "cache/credtab.h"
#include "cache/listcache.h"
#include "cache/namecache.h"
#include "explain/objnames.h"
#include "hashing/hash_key.h"
#include "nfsproto/nfs3_object.h"
#include "predictor/mention/nameindex.h"
#include "predictor/persist/trees.h"
#include "predictor/predictor.h"
#include "predictor/store/keymap.h"
#include "predictor/store/trails.h"
#include "predictor/walk/walktree.h"
#include "svc/drc.h"

enum { N = 2048, TEXT = 24, ALL = 100000 };

#define MEASURED __attribute__((noinline))

static struct world {
	struct slab *slab;
	struct attrcache *ac;
	struct namecache *nc;
	struct listcache *lc;
	struct node *dir;
	slab_ref dir_ref;
} w;

static bool known; /* in place of "undrawn" */

static void *got(void *p)
{
	if (!p)
		abort();
	return p;
}

static void world_open(void)
{
	const nfs3_fh fh = {.len = 1, .data = "d"};

	w.slab = got(slab_new());
	w.ac = got(attrcache_new(w.slab));
	w.nc = got(namecache_new(w.slab, w.ac));
	w.lc = got(listcache_new(w.ac));
	w.dir = got(attrcache_get(w.ac, &fh));
	w.dir_ref = slab_ref_of(w.dir);
}

/* ---- keys of numbers --------------------------------------------------- */

static nfs3_name name_of(uint64_t n, char text[TEXT])
{
	int len = snprintf(text, TEXT, "%llx", (unsigned long long)n);

	return (nfs3_name){.len = (uint32_t)len, .data = text};
}

/* A handle has more bytes, as those of most servers. */
static nfs3_fh handle_of(uint64_t n, char text[TEXT])
{
	(void)snprintf(text, TEXT, "%020llx", (unsigned long long)n);
	return (nfs3_fh){.len = 20, .data = text};
}

static struct cred_key cred_of(uint64_t n)
{
	struct cred_key key;

	memset(&key, 0, sizeof(key));
	key.flavor = AUTH_SYS;
	key.uid = (uint32_t)n;
	return key;
}

static struct drc_key call_of(uint64_t n)
{
	return (struct drc_key){.client = 1, .args = n, .xid = 7};
}

/* ---- where they go without a secret ------------------------------------ */

static uint64_t of_number(uint64_t n)
{
	return known ? n : hash_number(n);
}

static uint64_t of_mixed(uint64_t n)
{
	if (!known)
		return hash_number(n);
	n = (n ^ n >> 30) * 0xbf58476d1ce4e5b9u;
	n = (n ^ n >> 27) * 0x94d049bb133111ebu;
	return n ^ n >> 31;
}

static uint64_t of_bytes(const void *data, size_t len, uint64_t with)
{
	return known ? XXH3_64bits_withSeed(data, len, with)
		     : hash_bytes(data, len, with);
}

static uint64_t of_pair(uint64_t n)
{
	return known ? n : hash_numbers(n, 0);
}

static uint64_t of_handle(uint64_t n)
{
	char text[TEXT];
	nfs3_fh fh = handle_of(n, text);

	return of_number(fh_key(&fh));
}

static uint64_t of_name(uint64_t n)
{
	char text[TEXT];
	nfs3_name name = name_of(n, text);

	return of_bytes(name.data, name.len, w.dir_ref);
}

static uint64_t of_listed(uint64_t n)
{
	char text[TEXT];
	nfs3_name name = name_of(n, text);

	return of_bytes(name.data, name.len, 0) >> (known ? 0 : 1);
}

static uint64_t of_file_system(uint64_t n)
{
	return known ? XXH3_64bits(&n, sizeof(n)) : hash_number(n);
}

static uint64_t of_cred(uint64_t n)
{
	struct cred_key key = cred_of(n);

	return of_bytes(&key, sizeof(key), 0);
}

static uint64_t of_call(uint64_t n)
{
	struct drc_key key = call_of(n);

	return of_bytes(&key, sizeof(key), 0);
}

/* ---- what is done with them -------------------------------------------- */

static MEASURED void measure_keymap(const uint64_t *n)
{
	struct keymap *m = got(keymap_new());

	for (int i = 0; i < N; i++)
		(void)keymap_put(m, n[i], 0);
	for (int i = 0; i < N; i++)
		(void)keymap_get(m, n[i] + 1);
	keymap_free(m);
}

static MEASURED void measure_handles(const uint64_t *n)
{
	char text[TEXT];

	for (int i = 0; i < N; i++) {
		nfs3_fh fh = handle_of(n[i], text);

		(void)attrcache_get(w.ac, &fh);
	}
}

static MEASURED void measure_names(const uint64_t *n)
{
	char text[TEXT];

	for (int i = 0; i < N; i++) {
		nfs3_name name = name_of(n[i], text);

		namecache_bind(w.nc, w.dir, &name, NULL, 1, true);
	}
}

static MEASURED void measure_file_systems(const uint64_t *n)
{
	for (int i = 0; i < N; i++)
		(void)attrcache_get_fsys(w.ac, n[i]);
}

static MEASURED void measure_credentials(const uint64_t *n)
{
	struct credtab *ct = got(credtab_new());

	for (int i = 0; i < N; i++) {
		struct cred_key key = cred_of(n[i]);

		(void)credtab_get(ct, &key);
	}
	credtab_free(ct);
}

static MEASURED void measure_calls(const uint64_t *n)
{
	struct drc *drc = got(drc_open(NULL, N));
	struct drc_entry *e;

	for (int i = 0; i < N; i++) {
		struct drc_key key = call_of(n[i]);

		(void)drc_begin(drc, &key, 1, &e);
	}
	drc_close(drc);
}

static MEASURED void measure_shown(const uint64_t *n)
{
	struct objnames *on = got(objnames_new(N));

	for (int i = 0; i < N; i++)
		objnames_add(on, n[i]);
	objnames_free(on);
}

static MEASURED void measure_walked(const uint64_t *n)
{
	struct walktree *t = got(walktree_new());

	for (int i = 0; i < N; i++)
		(void)walktree_get(t, n[i], 0);
	walktree_free(t);
}

static MEASURED void measure_mentioned(const uint64_t *n)
{
	struct nameindex *ix = got(nameindex_new(N * 4));

	for (int i = 0; i < N; i++)
		nameindex_put(ix, n[i], NULL, 0);
	nameindex_free(ix);
}

/* As listcache_load() takes it. */
static size_t entry_put(char *to, uint64_t n)
{
	char text[TEXT];
	nfs3_name name = name_of(n, text);

	memset(to, 1, 16);
	to[16] = (char)name.len;
	memcpy(to + 17, text, name.len);
	return 17 + name.len;
}

static struct listing *listing_of(const uint64_t *n, int count)
{
	const char verf[NFS3_COOKIEVERFSIZE] = {0};
	struct binding bound = {.firm = true};
	char *data = got(malloc((size_t)count * (17 + TEXT)));
	size_t len = 0;

	for (int i = 0; i < count; i++)
		len += entry_put(data + len, n ? n[i] : (uint64_t)i);
	listcache_drop(w.lc, w.dir);
	listcache_load(w.lc, w.dir, 1, false, verf, data, len, &bound);
	free(data);
	return got(listcache_find(w.lc, w.dir, 1, false));
}

static bool lacks(struct listing *l)
{
	const nfs3_name name = {.len = 4, .data = "none"};

	return listing_lacks(w.lc, l, &name);
}

static MEASURED void measure_listed(const uint64_t *n)
{
	struct listing *l = listing_of(n, N);

	while (!lacks(l))
		;
}

/* ---- growing ------------------------------------------------------------ */

static MEASURED void step_keymap(struct keymap *m)
{
	(void)keymap_put(m, 0, 0);
}

static MEASURED void step_pairs(struct trails *t, uint32_t tail)
{
	(void)trails_append(t, tail, &(struct trail_use){.last = TRAIL_NONE});
}

static MEASURED void step_listed(struct listing *l)
{
	(void)lacks(l);
}

static void grow_keymap(void)
{
	struct keymap *m = got(keymap_new());

	for (uint64_t i = 1; i <= (1 << 17) / 4 * 3; i++)
		(void)keymap_put(m, i, 0);
	step_keymap(m);
	keymap_free(m);
}

static void grow_pairs(void)
{
	struct trails *t = got(trails_new(1 << 20));
	uint32_t tail = TRAIL_NONE;

	for (uint32_t i = 0; i < 1 << 17; i++)
		tail = trails_append(t, tail,
		    &(struct trail_use){.object = i & 0xffff, .last = tail});
	step_pairs(t, tail);
	trails_free(t);
}

static void grow_listed(void)
{
	struct listing *l = listing_of(NULL, ALL);

	step_listed(l);
	/* In the end it tells. */
	while (!lacks(l))
		;
}

static void grow(const char *table)
{
	if (strcmp(table, "keymap") == 0)
		grow_keymap();
	else if (strcmp(table, "pairs") == 0)
		grow_pairs();
	else
		grow_listed();
}

/* ---- for bench/stalls ---------------------------------------------------- */

/* Whether the hash leads to the first part of a table for `n`. */
static bool is_crowded(uint64_t hash, uint64_t n)
{
	uint64_t places = 16;

	while (places < 2 * n || places < 4096)
		places *= 2;
	return (hash & (places - 1)) < places / 64;
}

static void put_names(uint64_t n, bool ordinary)
{
	char text[TEXT];

	for (uint64_t i = 0, found = 0; found < n; i++) {
		if (!ordinary && !is_crowded(of_listed(i) | 1, n))
			continue;
		(void)puts(name_of(i, text).data);
		found++;
	}
}

/* As a portable file has them (portable.c). */
static uint64_t key_below(uint64_t parent, uint64_t name)
{
	uint64_t pair[2] = {parent, name};

	return XXH3_64bits_withSeed(pair, sizeof(pair), 0x666f7265);
}

/* One run of files in a directory. */
static void put_trees(uint64_t n, bool ordinary)
{
	const struct predictor_options opt = {0};
	struct predictor *p = got(predictor_new(&opt));
	struct predictor_obs o = {.kind = PREDICTOR_READ,
	    .now_ns = 1,
	    .latency_ns = 1,
	    .actor = 1,
	    .uid = 1,
	    .parent = 7};
	uint64_t top = key_below(0, o.parent), found = 0;
	size_t len;
	void *data;

	for (uint64_t name = 1; found < n; name++) {
		if (!ordinary && !is_crowded(of_mixed(key_below(top, name)), n))
			continue;
		o.now_ns += 1000;
		o.object = ++found + o.parent;
		o.name_hash = name;
		predictor_observe(p, &o);
	}
	data = got(predictor_export_trees(p, o.uid, &len));
	fwrite(data, len, 1, stdout);
	free(data);
	predictor_free(p);
}

/* ---- main --------------------------------------------------------------- */

static const struct {
	uint64_t (*place)(uint64_t n);
	void (*measure)(const uint64_t *n);
} tables[] = {
    {of_mixed, measure_keymap},
    {of_handle, measure_handles},
    {of_name, measure_names},
    {of_file_system, measure_file_systems},
    {of_cred, measure_credentials},
    {of_call, measure_calls},
    {of_number, measure_shown},
    {of_pair, measure_walked},
    {of_number, measure_mentioned},
    {of_listed, measure_listed},
};

enum { TABLES = sizeof(tables) / sizeof(tables[0]) };

/* Such as go to four places of 4096. */
static void choose(const char *mode)
{
	bool ordinary = strcmp(mode, "ordinary") == 0;

	known = strcmp(mode, "known") == 0;
	for (int t = 0; t < TABLES; t++) {
		uint64_t n = 1;

		for (int i = 0; i < N; n++) {
			if (!ordinary && (tables[t].place(n) & 0xfff) >= 4)
				continue;
			fwrite(&n, sizeof(n), 1, stdout);
			i++;
		}
	}
}

static void fill(void)
{
	static uint64_t n[TABLES][N];

	if (fread(n, sizeof(n), 1, stdin) != 1)
		abort();
	for (int t = 0; t < TABLES; t++)
		tables[t].measure(n[t]);
}

int main(int argc, char **argv)
{
	bool chooses = argc > 2 && strcmp(argv[1], "choose") == 0;
	bool ordinary = argc > 3 && strcmp(argv[3], "ordinary") == 0;

	if (!chooses)
		hash_key_draw();
	world_open();
	known = argc > 3;
	if (chooses)
		choose(argv[2]);
	else if (argc > 3 && strcmp(argv[1], "names") == 0)
		put_names(strtoul(argv[2], NULL, 10), ordinary);
	else if (argc > 3)
		put_trees(strtoul(argv[2], NULL, 10), ordinary);
	else if (argc > 2)
		grow(argv[2]);
	else
		fill();
	listcache_free(w.lc);
	namecache_free(w.nc);
	attrcache_free(w.ac);
	slab_delete(w.slab);
	return 0;
}
