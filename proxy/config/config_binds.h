/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Checks whether two places of a configuration want one address and port.
 * Private to config*.c. */
#ifndef FOREFETCH_CONFIG_BINDS_H
#define FOREFETCH_CONFIG_BINDS_H

#include "config/config.h"
#include "config/config_value.h"

/* Whether all of `mine`, a member of `cfg` or of one of its servers, can be
 * bound beside what else there is in `cfg` so far; `why` says what stands in
 * the way. */
bool config_binds_check(const struct config *cfg,
    const struct config_addrs *mine, struct config_why *why);

#endif
