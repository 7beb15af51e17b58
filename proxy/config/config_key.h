/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The table of all keys, and the sections that they live in. Private to
 * config*.c. A new key is one line in config_key.c, a member in config.h and a
 * paragraph in forefetch.conf(5); one of [export] sections is also compared by
 * compare_policies() in svc/exports.c. A key whose default is the value of
 * another one has no preset; finish_server() and inherit_policy() of
 * config_parse.c set it (docs/EXTENDING.md, "Add a setting").
 */
#ifndef FOREFETCH_CONFIG_KEY_H
#define FOREFETCH_CONFIG_KEY_H

#include "config/config.h"
#include "config/config_value.h"

/* The sections in which a key may stand, and the struct that its offset is
 * into. */
enum config_scope {
	CONFIG_SCOPE_DAEMON, /* [forefetch]; offset into struct config */
	CONFIG_SCOPE_FARM,   /* [farm]; into struct config_farm */
	CONFIG_SCOPE_SERVER, /* [server]; into struct config_server */
	CONFIG_SCOPE_POLICY, /* [server], [export]; into struct config_policy */
};

/* The file must give it, since it has no preset. */
#define CONFIG_KEY_REQUIRED 1u
#define CONFIG_KEY_FIXED    2u /* a daemon at work cannot change it */
#define CONFIG_KEY_BINDS    4u /* its value, a struct config_addrs, is bound */

/* One key: where its value is, how it is read, and what it may be. */
struct config_key {
	const char *name;
	enum config_scope scope;
	size_t offset;
	const struct config_type *type;
	struct config_range range;
	/* Its preset, as it would stand in a file; NULL: all zero. */
	const char *preset;
	unsigned flags;
};

/* A former name of a key, which is still accepted. */
struct config_former {
	const char *former;
	const char *name;
	/* NULL: it has the key's type and range; else these. */
	const struct config_type *type;
	struct config_range range;
};

extern const struct config_key config_keys[];
/* Rows of config_keys; at most 64, since `set` has a bit for each. */
extern const size_t config_nkeys;

/* A section of a configuration, of whatever kind; a view, it owns nothing. */
struct config_section {
	struct config *daemon;        /* NULL unless [forefetch] */
	struct config_farm *farm;     /* NULL unless [farm] */
	struct config_server *server; /* NULL unless [server] */
	struct config_policy *policy; /* NULL unless [server] or [export] */
	uint64_t *set;                /* bit i: the file gives config_keys[i] */
};

/* Each makes the view of one section. */
struct config_section config_section_daemon(struct config *cfg);
struct config_section config_section_farm(struct config_farm *farm);
struct config_section config_section_server(struct config_server *srv);
struct config_section config_section_export(struct config_export *exp);

/* Returns where the section holds the value of key `k`, or NULL when it has no
 * such key. */
void *config_section_field(const struct config_section *section, size_t k);

/* Returns the number of the key of that name in that section, or config_nkeys.
 * A former name of it is found, too, and is then in *former, else NULL. */
size_t config_key_find(const struct config_section *section, const char *name,
    const struct config_former **former);

/* Returns the former name of key `k`, or NULL. */
const struct config_former *config_key_former(size_t k);

/*
 * Writes advice on a key that the section does not have, with its leading "; ",
 * or an empty text: the key that other programs call so, the nearest name, or
 * the section where it belongs.
 */
void config_key_hint(const struct config_section *section, const char *name,
    struct config_why *hint);

/*
 * Gives each key that the file does not set its preset. Returns 0, or an error
 * of config_type.parse.
 */
int config_section_preset(
    const struct config_section *section, struct config_why *why);

/* Frees what the fields own. */
void config_section_release(const struct config_section *section);

#endif
