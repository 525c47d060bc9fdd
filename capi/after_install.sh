#!/bin/sh
# SPDX-License-Identifier: MIT
# Run by `meson install`: after_install.sh FOLDER LIBRARY. Lets the loader find what is new, and says
# what to set where it does not look.
set -eu
PATH=$PATH:/usr/sbin:/sbin
[ "$(id -u)" != 0 ] || ldconfig || true

# Meson shows nothing of what a script prints, unless it fails: this goes to where Meson prints.
out=/proc/$PPID/fd/1
{ : >> "$out"; } 2> /dev/null || out=/dev/stdout
if ! ldconfig -p 2> /dev/null | grep -qF "=> $1/$2"; then
  {
    echo "The loader does not look into $1. For programs that are built on morello:"
    echo "  export PKG_CONFIG_PATH=$1/pkgconfig LD_LIBRARY_PATH=$1"
  } >> "$out"
fi
