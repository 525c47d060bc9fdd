// SPDX-License-Identifier: MIT
#include "capi/boundary.hh"

#include <algorithm>
#include <exception>
#include <new>
#include <string>
#include <system_error>

#include "capi/objects.hh"
#include "support/concat.hh"

namespace morello {

static_assert(sizeof(morello_cpu_info) >= kFirstCpuInfo);
static_assert(sizeof(morello_context_options) >= kFirstContextOptions);
static_assert(sizeof(morello_options) >= kFirstOptions);
static_assert(sizeof(morello_executor) >= kFirstExecutor);
static_assert(sizeof(morello_search_stats) >= kFirstSearchStats);
static_assert(sizeof(morello_table_info) >= kFirstTableInfo);
static_assert(sizeof(morello_table_verification) >= kFirstTableVerification);

std::optional<Error> find_null(std::initializer_list<Argument> arguments) {
  for (const Argument& a : arguments)
    if (a.pointer == nullptr)
      return invalid_argument(
          concat({"argument `", a.name, "` is NULL; it must point to an object"}));
  return std::nullopt;
}

std::string isa_constant(std::string_view name, i32 number) {
  std::string text = "MORELLO_ISA_";
  for (char c : name) text += c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  return concat({text, " (", number, ")"});
}

morello_status report(const Error& error, morello_error** err) noexcept {
  if (err == nullptr) return error.status;
  const morello_status status = report(error.status, error.message.c_str(), err);
  if (*err != nullptr) {
    (*err)->line = error.line;
    (*err)->column = error.column;
  }
  return status;
}

morello_status report(morello_status status, const char* message, morello_error** err) noexcept {
  if (err == nullptr) return status;
  *err = nullptr;
  const size_t bytes = std::strlen(message) + 1;
  auto* object = new (std::nothrow) morello_error;
  if (object == nullptr) return status;
  object->message.reset(new (std::nothrow) char[bytes]);
  if (object->message == nullptr) {
    delete object;
    return status;
  }
  std::memcpy(object->message.get(), message, bytes);
  object->status = status;
  *err = object;
  return status;
}

morello_status report_exception(morello_error** err) noexcept {
  constexpr const char* kNoMemory = "the system has no memory left for this call";
  try {
    throw;
  } catch (const std::bad_alloc&) {
    return report(MORELLO_OUT_OF_MEMORY, kNoMemory, err);
  } catch (const std::system_error& e) {
    const bool refused = e.code() == std::errc::resource_unavailable_try_again ||
                         e.code() == std::errc::not_enough_memory;  // threads, mostly
    return refused ? report(MORELLO_OUT_OF_MEMORY, kNoMemory, err)
                   : report(MORELLO_INTERNAL, e.what(), err);
  } catch (const std::exception& e) {
    return report(MORELLO_INTERNAL, e.what(), err);
  } catch (...) {
    return report(MORELLO_INTERNAL, "an exception of unknown type reached the C interface", err);
  }
}

std::optional<Error> check_struct(const void* given, size_t first, size_t known, const char* name) {
  size_t size;
  std::memcpy(&size, given, sizeof(size));
  if (size < first || size > kLargestStruct)
    return invalid_argument(concat({name, ".struct_size is ", size,
                                    "; it must be the size of a released version, at least ", first,
                                    ": fill the struct with its _init function"}));
  const char* bytes = static_cast<const char*>(given);
  const char* tail =
      std::find_if(bytes + std::min(size, known), bytes + size, [](char c) { return c != 0; });
  if (tail != bytes + size)
    return invalid_argument(concat({name, " has a nonzero byte at offset ", tail - bytes,
                                    ", in a field newer than this library (" MORELLO_VERSION_STRING
                                    "); such fields must be 0"}));
  return std::nullopt;
}

size_t copy_text(std::string_view text, char* buffer, size_t size) noexcept {
  if (buffer != nullptr && size > 0) {
    const size_t n = std::min(size - 1, text.size());
    if (n > 0) std::memcpy(buffer, text.data(), n);
    buffer[n] = '\0';
  }
  return text.size();
}

}  // namespace morello
