/* SPDX-License-Identifier: MIT
 * The single source of every version number; meson.build reads this file. */
#ifndef MORELLO_VERSION_H
#define MORELLO_VERSION_H

#define MORELLO_VERSION_MAJOR 0
#define MORELLO_VERSION_MINOR 1
#define MORELLO_VERSION_PATCH 0
#define MORELLO_VERSION_STRING "0.1.0"
#define MORELLO_VERSION \
  (MORELLO_VERSION_MAJOR * 10000 + MORELLO_VERSION_MINOR * 100 + MORELLO_VERSION_PATCH)

/** The shared library's soname. Raised when anything declared in morello.h changes or goes away. */
#define MORELLO_ABI_VERSION 0

/** Raised when any price in the cost model changes: equal Specs may then get other programs. */
#define MORELLO_COST_MODEL_VERSION 1

/** Newest format of table files that this version writes: that of tables of quick searches. Others
 *  it writes in format 6, and reads both. */
#define MORELLO_TABLE_FORMAT_VERSION 7

#endif
