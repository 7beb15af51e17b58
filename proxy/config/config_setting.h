/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Treats one setting of a server or an export by itself, for programs that take
 * it as an option, compare it, or write it into a file. */
#ifndef FOREFETCH_CONFIG_SETTING_H
#define FOREFETCH_CONFIG_SETTING_H

#include "config/config.h"

/* The most bytes of a value, with its NUL; a longer list is refused. */
#define CONFIG_SETTING_MAX 128

struct config_setting {
	const char *key; /* its present name; static text */
	/* The value in the form in which config_print() writes it. */
	char value[CONFIG_SETTING_MAX];
	bool policy; /* an [export] may give it, too */
};

/*
 * Reads `key` = `value` as a section [server] does. Returns 1; 0 where such a
 * section has no key of that name, with "did you mean …?" or an empty text in
 * `why`; or -EINVAL with the reason why the key does not take the value.
 */
int config_setting_parse(const char *key, const char *value,
    struct config_setting *out, char *why, size_t whylen);

/* Gives the value in force of a setting of `srv`, or of its section `exp`,
 * which may be NULL. False where there is no such key, or its value is too
 * long. */
bool config_setting_get(const struct config_server *srv,
    const struct config_export *exp, const char *key,
    char value[CONFIG_SETTING_MAX]);

#endif
