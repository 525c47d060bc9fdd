/* SPDX-License-Identifier: MIT
 * A C program keeps its malloc and free, and libstdc++ its new and delete, whatever the library
 * does. With an argument it only uses the library, for tools that serve malloc themselves. */
#include "host_check.h"

static void check(const char *when) {
  check_names(when);
  check_malloc(when);
}

int main(int argc, char **argv) {
  (void)argv;
  if (argc < 2) check("before use");
  use_library();
  if (argc < 2) check("after use");
  if (failures == 0) puts("the host's allocation functions are its own");
  return failures == 0 ? 0 : 1;
}
