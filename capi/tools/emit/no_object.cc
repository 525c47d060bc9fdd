// SPDX-License-Identifier: MIT
// In place of object.cc, where there is no libelf.
#include "emit/object.hh"

namespace morello::tools {

std::string find_missing_writer() {
  return "this morello was built without libelf, which writes object files; install it (Debian: "
         "libelf-dev), and configure and build morello again";
}

std::string make_object(const std::vector<Section>&, std::string* problem) {
  *problem = find_missing_writer();
  return {};
}

}  // namespace morello::tools
