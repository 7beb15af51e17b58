/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads one setting by itself, and prints it as the whole configuration would.
 * The mount commands use this (cli/mount): an option of theirs is a key here,
 * with the same values and the same messages. */
#include "config/config_setting.h"

#include "config/config_key.h"

#include <errno.h>
#include <string.h>

/* Prints the value; false where it is longer than CONFIG_SETTING_MAX, or
 * without memory. */
static bool print_value(
    const struct config_key *key, const void *field, char *value)
{
	FILE *out = fmemopen(value, CONFIG_SETTING_MAX, "w");
	bool whole;

	if (!out)
		return false;
	key->type->print(&key->range, field, out);
	whole = ftello(out) < CONFIG_SETTING_MAX;
	return fclose(out) == 0 && whole;
}

/* Parses the value as the key, or its former name, has it; as
 * config_type.parse. */
static int parse_field(const struct config_key *key,
    const struct config_former *former, const char *value, void *field,
    struct config_why *why)
{
	const struct config_type *type = key->type;
	const struct config_range *range = &key->range;

	if (former && former->type) {
		type = former->type;
		range = &former->range;
	}
	if (*value)
		return type->parse(range, value, field, why);
	snprintf(why->text, sizeof(why->text), "no value");
	return -EINVAL;
}

int config_setting_parse(const char *key, const char *value,
    struct config_setting *out, char *why, size_t whylen)
{
	struct config_server srv = {.name = NULL};
	struct config_section section = config_section_server(&srv);
	const struct config_former *former;
	size_t k = config_key_find(&section, key, &former);
	struct config_why reason = {.text = ""};
	int err;

	if (k == config_nkeys) {
		const char *hint;

		config_key_hint(&section, key, &reason);
		hint = strstr(reason.text, "did you mean");
		snprintf(why, whylen, "%s", hint ? hint : "");
		return 0;
	}
	out->key = config_keys[k].name;
	out->policy = config_keys[k].scope == CONFIG_SCOPE_POLICY;
	err = parse_field(&config_keys[k], former, value,
	    config_section_field(&section, k), &reason);
	if (!err && !print_value(&config_keys[k],
			config_section_field(&section, k), out->value)) {
		snprintf(reason.text, sizeof(reason.text), "it is too long");
		err = -EINVAL;
	}
	config_section_release(&section);
	snprintf(
	    why, whylen, "%s", err == -ENOMEM ? "out of memory" : reason.text);
	return err ? -EINVAL : 1;
}

bool config_setting_get(const struct config_server *srv,
    const struct config_export *exp, const char *key,
    char value[CONFIG_SETTING_MAX])
{
	/* A section is a writable view; nothing is written through it here. */
	struct config_section section =
	    exp ? config_section_export((struct config_export *)exp)
		: config_section_server((struct config_server *)srv);
	const struct config_former *former;
	size_t k = config_key_find(&section, key, &former);

	return k < config_nkeys &&
	       print_value(
		   &config_keys[k], config_section_field(&section, k), value);
}
