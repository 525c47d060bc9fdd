// SPDX-License-Identifier: MIT
#include "npy.hh"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string_view>

#include "fmt/format.h"
#include "output.hh"

namespace morello::tools {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr int64_t kMaxElements = int64_t{1} << 31;

/// The text of the value of `key` in the header, a Python dictionary literal, up to `end` (which is
/// included); empty if it is not there.
std::string_view value_of(std::string_view header, std::string_view key, char end) {
  const size_t at = header.find(fmt::format("'{}'", key));
  if (at == header.npos) return {};
  const size_t start = header.find_first_not_of(": ", at + key.size() + 2);
  if (start == header.npos) return {};
  const size_t stop = header.find(end, start);
  return stop == header.npos ? std::string_view() : header.substr(start, stop + 1 - start);
}

/// Reads "(2, 3)", "(2,)" or "()".
bool parse_shape(std::string_view text, std::vector<int64_t>* shape) {
  if (text.size() < 2 || text.front() != '(' || text.back() != ')') return false;
  const std::string inner(text.substr(1, text.size() - 2));
  const char* at = inner.c_str();
  int64_t elements = 1;
  while (at += std::strspn(at, " ,"), *at != '\0') {
    char* end = nullptr;
    const int64_t size = std::strtoll(at, &end, 10);
    if (end == at || size < 1 || size > kMaxElements / elements) return false;
    elements *= size;
    shape->push_back(size);
    at = end;
  }
  return true;
}

/// How files call element types; of several names, the first is written.
constexpr struct {
  std::string_view name;
  int32_t dtype;
} kTypes[] = {{"'<f4'", MORELLO_F32},  {"'<f2'", MORELLO_F16}, {"'<V2'", MORELLO_BF16},
              {"'|V2'", MORELLO_BF16}, {"'|i1'", MORELLO_I8},  {"'|u1'", MORELLO_U8},
              {"'<i4'", MORELLO_I32}};

/// `values` has axis 0 fastest; makes the last axis fastest.
std::vector<char> to_row_major(const std::vector<int64_t>& shape, size_t bytes,
                               const std::vector<char>& values) {
  std::vector<char> result(values.size());
  std::vector<int64_t> index(shape.size(), 0);
  for (size_t at = 0; at < result.size(); at += bytes) {
    size_t offset = 0;
    for (size_t axis = shape.size(); axis-- > 0;) {
      offset = offset * static_cast<size_t>(shape[axis]) + static_cast<size_t>(index[axis]);
    }
    std::memcpy(&result[at], &values[offset * bytes], bytes);
    for (size_t axis = shape.size(); axis-- > 0;) {
      if (++index[axis] < shape[axis]) break;
      index[axis] = 0;
    }
  }
  return result;
}

}  // namespace

std::string read_npy(const std::string& path, Array* array) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return fmt::format("{}: cannot be opened", path);
  const std::string bytes{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  const std::string_view all = bytes;
  if (all.substr(0, kMagic.size()) != kMagic || all.size() < 10) {
    return fmt::format("{}: not a .npy file", path);
  }
  const auto byte = [&](size_t at) { return static_cast<size_t>(static_cast<uint8_t>(all[at])); };
  const size_t version = byte(6);
  size_t start = 10, length = byte(8) | byte(9) << 8;
  if (version == 2 && all.size() >= 12) {
    start = 12;
    length |= byte(10) << 16 | byte(11) << 24;
  } else if (version != 1) {
    return fmt::format("{}: .npy version {}; versions 1 and 2 can be read", path, version);
  }
  if (length > all.size() - start) return fmt::format("{}: the header is cut off", path);

  const std::string_view header = all.substr(start, length);
  std::string_view type = value_of(header, "descr", ',');
  type = type.substr(0, type.empty() ? 0 : type.size() - 1);
  const auto row = std::find_if(std::begin(kTypes), std::end(kTypes),
                                [&](const auto& known) { return known.name == type; });
  if (row == std::end(kTypes)) {
    return fmt::format(
        "{}: element type {} is none of '<f4' (little-endian f32), '<f2', '<V2' (bf16 of "
        "ml_dtypes), "
        "'|i1', '|u1', '<i4'",
        path, type.empty() ? "?" : type);
  }
  array->dtype = row->dtype;
  const size_t bytes_each = size_of(array->dtype);
  array->shape.clear();
  if (!parse_shape(value_of(header, "shape", ')'), &array->shape)) {
    return fmt::format("{}: the header has no usable shape", path);
  }
  size_t count = 1;
  for (const int64_t size : array->shape) count *= static_cast<size_t>(size);
  const std::string_view data = all.substr(start + length);
  if (data.size() != count * bytes_each) {
    return fmt::format("{}: {} bytes of data where the shape needs {}", path, data.size(),
                       count * bytes_each);
  }
  array->elements.assign(data.begin(), data.end());
  if (value_of(header, "fortran_order", ',').substr(0, 4) == "True") {
    array->elements = to_row_major(array->shape, bytes_each, array->elements);
  }
  return {};
}

std::string write_npy(const std::string& path, const Array& array) {
  std::string shape;
  for (const int64_t size : array.shape) shape += fmt::format("{}, ", size);
  if (array.shape.size() > 1) shape.resize(shape.size() - 2);
  if (array.shape.size() == 1) shape.resize(shape.size() - 1);
  const auto row = std::find_if(std::begin(kTypes), std::end(kTypes),
                                [&](const auto& known) { return known.dtype == array.dtype; });
  std::string header =
      fmt::format("{{'descr': {}, 'fortran_order': False, 'shape': ({}), }}", row->name, shape);
  // The data starts at a multiple of 64 bytes, and the header ends with a newline.
  const size_t unpadded = kMagic.size() + 4 + header.size() + 1;
  header.append((64 - unpadded % 64) % 64, ' ');
  header += '\n';

  const char version_and_length[] = {1, 0, static_cast<char>(header.size() & 0xff),
                                     static_cast<char>(header.size() >> 8)};
  return write_file(path, {kMagic,
                           {version_and_length, sizeof version_and_length},
                           header,
                           {array.elements.data(), array.elements.size()}});
}

}  // namespace morello::tools
