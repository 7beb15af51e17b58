/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Compares two configurations by the text that each would print: so a value
 * counts as changed where its meaning has, not its spelling, and no kind of
 * value needs a comparison of its own. daemon/ calls this when the
 * configuration is reloaded, and tells users what a reload did, or what needs a
 * restart. */
#include "config/config.h"
#include "config/config_key.h"

#include <stdlib.h>
#include <string.h>

/* Whom to tell of differences, and how many there were. */
struct diff {
	void (*on)(void *ctx, const struct config_change *change);
	void *ctx;
	size_t n;
};

static void tell(struct diff *d, enum config_change_kind kind,
    const char *server, const char *setting, bool fixed)
{
	const struct config_change change = {
	    .kind = kind, .server = server, .setting = setting, .fixed = fixed};

	d->n++;
	if (d->on)
		d->on(d->ctx, &change);
}

/* Returns the value of key `k` as text, for the caller to free; NULL without
 * memory. */
static char *value_text(const struct config_section *section, size_t k)
{
	const struct config_key *key = &config_keys[k];
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	if (!out)
		return NULL;
	key->type->print(&key->range, config_section_field(section, k), out);
	if (fclose(out) != 0) {
		free(text);
		return NULL;
	}
	return text;
}

/* Without memory for it, two values count as different. */
static bool same_value(const struct config_section *old,
    const struct config_section *now, size_t k)
{
	char *was = value_text(old, k), *is = value_text(now, k);
	bool same = was && is && strcmp(was, is) == 0;

	free(was);
	free(is);
	return same;
}

/* Tells the keys that differ between two sections of one kind. */
static void diff_section(struct diff *d, const char *server,
    const struct config_section *old, const struct config_section *now)
{
	for (size_t k = 0; k < config_nkeys; k++)
		if (config_section_field(old, k) && !same_value(old, now, k))
			tell(d, CONFIG_CHANGED, server, config_keys[k].name,
			    config_keys[k].flags & CONFIG_KEY_FIXED);
}

/* Whether two [export] sections give the same keys the same values. Keys that
 * they leave open are the server's, which were compared already. */
static bool same_export(struct config_export *old, struct config_export *now)
{
	struct config_section was = config_section_export(old);
	struct config_section is = config_section_export(now);

	if (old->set != now->set)
		return false;
	for (size_t k = 0; k < config_nkeys; k++)
		if ((old->set >> k & 1) && !same_value(&was, &is, k))
			return false;
	return true;
}

/* Whether both servers have the same [export] sections, in whatever order. */
static bool same_exports(
    const struct config_server *old, const struct config_server *now)
{
	if (old->noverrides != now->noverrides)
		return false;
	for (size_t i = 0; i < now->noverrides; i++) {
		const struct config_export *was =
		    config_export_find(old, now->overrides[i].path);

		if (!was || !same_export((struct config_export *)was,
				&now->overrides[i]))
			return false;
	}
	return true;
}

/* Tells what differs between two states of a server. A section is a writable
 * view; nothing is written through it here. */
static void diff_server(struct diff *d, const struct config_server *old,
    const struct config_server *now)
{
	struct config_section was =
	    config_section_server((struct config_server *)old);
	struct config_section is =
	    config_section_server((struct config_server *)now);

	diff_section(d, now->name, &was, &is);
	if (!same_exports(old, now))
		tell(d, CONFIG_CHANGED, now->name, "export", false);
}

size_t config_diff(const struct config *old, const struct config *cfg,
    void (*on)(void *ctx, const struct config_change *change), void *ctx)
{
	struct config_section was = config_section_daemon((struct config *)old);
	struct config_section is = config_section_daemon((struct config *)cfg);
	struct diff d = {.on = on, .ctx = ctx};

	diff_section(&d, NULL, &was, &is);
	was = config_section_farm((struct config_farm *)&old->farm);
	is = config_section_farm((struct config_farm *)&cfg->farm);
	diff_section(&d, NULL, &was, &is);
	for (size_t i = 0; i < old->nservers; i++)
		if (!config_server_find(cfg, old->servers[i].name))
			tell(&d, CONFIG_REMOVED, old->servers[i].name, NULL,
			    false);
	for (size_t i = 0; i < cfg->nservers; i++) {
		const struct config_server *now = &cfg->servers[i];
		const struct config_server *former =
		    config_server_find(old, now->name);

		if (former)
			diff_server(&d, former, now);
		else
			tell(&d, CONFIG_ADDED, now->name, NULL, false);
	}
	return d.n;
}

/* Notes whether any change is of a fixed key; for diff.on. */
static void note_fixed(void *ctx, const struct config_change *change)
{
	*(bool *)ctx |= change->fixed;
}

bool config_server_differs(
    const struct config_server *old, const struct config_server *now)
{
	bool fixed = false;
	struct diff d = {.on = note_fixed, .ctx = &fixed};

	diff_server(&d, old, now);
	return fixed;
}

/* Exchanges the fixed keys of two sections byte by byte, so that each value
 * that owns memory still has one owner. */
static void swap_fixed(
    const struct config_section *was, const struct config_section *is)
{
	for (size_t k = 0; k < config_nkeys; k++) {
		char *a = config_section_field(was, k);
		char *b = config_section_field(is, k);

		if (!a || !(config_keys[k].flags & CONFIG_KEY_FIXED))
			continue;
		for (size_t i = 0; i < config_keys[k].type->size; i++) {
			char c = a[i];

			a[i] = b[i];
			b[i] = c;
		}
	}
}

void config_keep_fixed(struct config *old, struct config *now)
{
	struct config_section was = config_section_daemon(old);
	struct config_section is = config_section_daemon(now);

	swap_fixed(&was, &is);
	was = config_section_farm(&old->farm);
	is = config_section_farm(&now->farm);
	swap_fixed(&was, &is);
}
