// SPDX-License-Identifier: MIT
// Kernels as files and bytes, and back.
#include "runtime/stored.hh"

#include "capi/boundary.hh"
#include "capi/objects.hh"
#include "capi/target.hh"

using namespace morello;

namespace {

std::optional<Error> find_unsavable(const morello_kernel* kernel) {
  if (auto e = find_null({{"kernel", kernel}})) return e;
  if (code_of(kernel) != nullptr) return std::nullopt;
  return invalid_argument(
      "the kernel was made with options.search_only and has no code to save; synthesize it "
      "without, or with code_only if it is for another CPU");
}

DecodeKernelOptions options_for(const morello_context& context) {
  DecodeKernelOptions options;
  options.refuse = [&](const Target& target) {
    return find_lacking(context, target, "load a kernel that was saved for a target that it has");
  };
  return options;
}

Result<Done> hand_over(const morello_context& context, Result<StoredKernel> stored,
                       morello_kernel** kernel) {
  if (!stored) return std::move(stored.error());
  *kernel = loaded_kernel(context, std::move(stored->kernel));
  return Done{};
}

}  // namespace

morello_status morello_kernel_save(const morello_kernel* kernel, const char* path,
                                   morello_error** err) {
  return guarded(err, [&]() -> Result<Done> {
    if (auto e = find_unsavable(kernel)) return *e;
    if (auto e = find_null({{"path", path}})) return *e;
    const Result<FilePlace> place = find_place(path);
    if (!place) return place.error();
    const Bytes bytes = encode_kernel(kernel->kernel, "");
    if (auto e = put_file(path, place->folder.get(), place->name, bytes)) return *e;
    return Done{};
  });
}

morello_status morello_kernel_save_memory(const morello_kernel* kernel, void* buffer, size_t size,
                                          size_t* length, morello_error** err) {
  return guarded(err, [&]() -> Result<Done> {
    if (auto e = find_unsavable(kernel)) return *e;
    if (auto e = find_null({{"length", length}})) return *e;
    if (size > 0)
      if (auto e = find_null({{"buffer", buffer}})) return *e;
    const Bytes bytes = encode_kernel(kernel->kernel, "");
    if (size > 0) std::memcpy(buffer, bytes.data(), std::min(size, bytes.size()));
    *length = bytes.size();
    return Done{};
  });
}

morello_status morello_kernel_load(const morello_context* context, const char* path,
                                   morello_kernel** kernel, morello_error** err) {
  return guarded(err, [&]() -> Result<Done> {
    if (auto e = find_null({{"context", context}, {"path", path}, {"kernel", kernel}})) return *e;
    const Descriptor file(open(path, kReadFlags));
    if (!file) return failed(path, "open");
    const Result<u64> size = size_of_file(path, file.get());
    if (!size) return size.error();
    return hand_over(*context, decode_file(path, file.get(), *size, options_for(*context)), kernel);
  });
}

morello_status morello_kernel_load_memory(const morello_context* context, const void* data,
                                          size_t size, morello_kernel** kernel,
                                          morello_error** err) {
  return guarded(err, [&]() -> Result<Done> {
    if (auto e = find_null({{"context", context}, {"data", data}, {"kernel", kernel}})) return *e;
    const std::span<const u8> bytes(static_cast<const u8*>(data), size);
    return hand_over(*context, decode_kernel(bytes, options_for(*context)), kernel);
  });
}
