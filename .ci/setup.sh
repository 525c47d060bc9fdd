# SPDX-License-Identifier: MIT
# Sourced by the scripts beside it: puts the needed Debian packages in place.
export DEBIAN_FRONTEND=noninteractive

# What a build needs; the last six are for the command line tool, doctest is for the tests.
needed_packages="g++ meson ninja-build pkg-config python3 libxbyak-dev libxxhash-dev libzstd-dev libcereal-dev
  doctest-dev libfmt-dev libcli11-dev nlohmann-json3-dev libzydis-dev libzycore-dev libelf-dev"

is_installed() {
  case $1 in
    g++ | meson | pkg-config | python3 | ccache | cmake | cargo | clang | clang-format)
      command -v "$1" > /dev/null ;;
    ninja-build) command -v ninja > /dev/null ;;
    binutils) command -v readelf > /dev/null ;;
    *) dpkg-query -W -f '${Status}' "$1" 2> /dev/null | grep -q ' installed$' ;;
  esac
}

# install_packages PACKAGE...: installs those that are missing; fails if that cannot be done.
install_packages() {
  missing=
  for package in "$@"; do
    is_installed "$package" || missing="$missing $package"
  done
  [ -n "$missing" ] || return 0
  if ! command -v apt-get > /dev/null; then
    echo "not a Debian system: cannot install$missing" >&2
    return 1
  fi
  if [ "$(id -u)" = 0 ]; then
    as_root=
  elif sudo -n true 2> /dev/null; then
    as_root="sudo -n"
  else
    echo "missing packages; as root, run:" >&2
    echo "  apt-get update && apt-get install -y --no-install-recommends$missing" >&2
    return 1
  fi
  echo "installing$missing"
  $as_root apt-get -qq -o Acquire::Retries=3 update < /dev/null || true
  # shellcheck disable=SC2086 # both are lists of words
  $as_root apt-get -qq -o Acquire::Retries=3 install -y --no-install-recommends $missing \
    < /dev/null > /dev/null
}
