/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The out-of-core Fourier transform among the programs of patternio. */
#ifndef FOREFETCH_PATTERNIO_FFT_H
#define FOREFETCH_PATTERNIO_FFT_H

#include "patternio.h"

/*
 * The Fourier transform of the first `blocks` points of the file, a power of
 * two: 16 bytes a point, of which 4 each are real and imaginary part, as
 * fixed-point imaginary part. Decimation in frequency; what does not fit into a
 * quarter of MEMORY_POINTS goes through FILE.out, in passes over two parts of
 * the file each. The order is that of reversed bits. Returns a checksum of the
 * result.
 */
uint64_t fft_file(const struct options *p);

#endif
