/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Counters and gauges of the daemon by their names. */
#include "ctl/ctl_values.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "ctl/ctl_text.h"

enum { NAME_MAX_BYTES = 96 };

static bool find(Forefetch__Counter *const *list, size_t n, const char *name,
    uint64_t *value)
{
	for (size_t i = 0; i < n; i++) {
		if (strcmp(list[i]->key, name) != 0)
			continue;
		*value = list[i]->value;
		return true;
	}
	return false;
}

bool ctl_value_find(
    const Forefetch__ServerStats *srv, const char *name, uint64_t *value)
{
	*value = 0;
	return name && (find(srv->counters, srv->n_counters, name, value) ||
			   find(srv->gauges, srv->n_gauges, name, value));
}

uint64_t ctl_value(const Forefetch__ServerStats *srv, const char *name)
{
	uint64_t value;

	ctl_value_find(srv, name, &value);
	return value;
}

static void put_share(
    const Forefetch__ServerStats *srv, const char *part, const char *whole)
{
	double of = (double)ctl_value(srv, whole);

	printf(
	    "%.1f%%", of > 0 ? (double)ctl_value(srv, part) * 100 / of : 0.0);
}

/* What stands between braces. */
static void put_value(const Forefetch__ServerStats *srv, char *name)
{
	char buf[CTL_TEXT_MAX], *unit = strpbrk(name, ":/");
	char kind = unit ? *unit : '\0';
	uint64_t value;

	if (unit)
		*unit++ = '\0';
	if (kind == '/')
		put_share(srv, name, unit);
	else if (!ctl_value_find(srv, name, &value))
		putchar('-');
	else if (kind == ':' && *unit == 'B')
		fputs(ctl_text_bytes(buf, value), stdout);
	else if (kind == ':')
		fputs(ctl_text_us(buf, value), stdout);
	else
		printf("%" PRIu64, value);
}

void ctl_values_put(const Forefetch__ServerStats *srv, const char *text)
{
	char name[NAME_MAX_BYTES];

	while (*text) {
		size_t n = strcspn(text, "{");

		fwrite(text, 1, n, stdout);
		text += n;
		if (!*text)
			return;
		n = strcspn(++text, "}");
		snprintf(name, sizeof(name), "%.*s", (int)n, text);
		put_value(srv, name);
		text += n + 1;
	}
}
