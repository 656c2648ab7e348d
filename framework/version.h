// The version of the library.
#pragma once

#define UNROLL_VERSION_MAJOR 0
#define UNROLL_VERSION_MINOR 2
#define UNROLL_VERSION_PATCH 0
#define UNROLL_VERSION "0.2.0"
// To compare: 10000·major + 100·minor + patch.
#define UNROLL_VERSION_NUMBER \
  (10000 * UNROLL_VERSION_MAJOR + 100 * UNROLL_VERSION_MINOR + UNROLL_VERSION_PATCH)
