/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The linker puts these functions in the place of the daemon's for a test of
 * several turns, beside those of control_modules.h and control_activity.h
 * (tests/CMakeLists.txt). */
#ifndef FOREFETCH_TEST_CONTROL_TURNS_H
#define FOREFETCH_TEST_CONTROL_TURNS_H

#include "warm/pins.h"

bool __wrap_pins_sizes_step(
    struct pins *ps, struct datacache_pin_walk *sizes, size_t n);
bool __wrap_pins_get(struct pins *ps, unsigned id,
    const struct datacache_pin_walk *sizes, struct pins_info *out);
void __wrap_pins_room(struct pins *ps, uint64_t *bytes, uint64_t *limit_bytes);

#endif
