// SPDX-License-Identifier: MIT
// Tables of a few Specs, in contexts of the C interface, for its tests.
#ifndef MORELLO_TESTS_CAPI_TABLES_HH
#define MORELLO_TESTS_CAPI_TABLES_HH

#include "../table/solved_family.hh"
#include "handles.hh"
#include "table/encode.hh"
#include "table/identity.hh"

namespace morello::testing {

inline constexpr const char* kMatmul = "matmul f32[16,24] f32[24,32] -> f32[16,32]";
inline constexpr const char* kRelu = "relu f32[100] -> f32[100]";
inline constexpr const char* kFree = "matmul f32[16,24] f32[24,40]{*} -> f32[16,40]";
inline constexpr const char* kOther = "matmul f32[17,24] f32[24,32] -> f32[17,32]";

/// A table on AVX2 that covers these Specs.
inline TableContent content_for(const std::vector<std::string>& texts, uint32_t threads = 1) {
  const SolvedFamily family = solve(texts, threads);
  TableBuilder builder(identity_of(family.target));
  add(family, builder);
  for (const std::string& text : texts) builder.add_family(text);
  return builder.build()->content();
}
inline const TableContent& content() {
  static const TableContent made = content_for({kMatmul, kRelu, kFree});
  return made;
}

inline TablePtr load(morello_context* context, const Bytes& bytes) {
  return make<TablePtr>([&](morello_table** t, morello_error** e) {
    return morello_table_load_memory(context, bytes.data(), bytes.size(), t, e);
  });
}

/// A context, a table in it, and kernels with and without the table.
struct Shop {
  ContextPtr context = make_context();
  TablePtr table;
  explicit Shop(const TableContent& c = content()) : table(load(context.get(), encode(c))) {}

  morello_options options() const {
    morello_options o = default_options();
    o.target = MORELLO_ISA_AVX2;
    o.search_only = 1;
    o.table = table.get();
    return o;
  }
  SpecPtr spec(const char* text) const { return parse_spec(context.get(), text); }
  KernelPtr searched(const char* text) const {
    morello_options o = options();
    o.table = nullptr;
    return synthesize(context.get(), spec(text).get(), &o);
  }
  KernelPtr looked_up(const char* text) const {
    const morello_options o = options();
    return synthesize(context.get(), spec(text).get(), &o);
  }
  Failure refused(const morello_options& o) const {
    const SpecPtr s = spec(kMatmul);
    return fail<morello_kernel>([&](morello_kernel** k, morello_error** e) {
      return morello_synthesize(context.get(), s.get(), &o, k, e);
    });
  }
};

inline std::string impl_of(const KernelPtr& kernel) {
  return text_of(morello_kernel_print, kernel.get());
}

}  // namespace morello::testing

#endif
