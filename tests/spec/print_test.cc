// SPDX-License-Identifier: MIT
// The printed form: one text per Statement, read back exactly; hashes and equality follow it.
#include <doctest/doctest.h>

#include <bit>
#include <limits>
#include <set>

#include "spec/statement.hh"
#include "support/random_statement.hh"
#include "support/scale.hh"

namespace morello {

TEST_SUITE("spec") {
  TEST_CASE("print: the one form of each operation") {
    const struct {
      std::string_view text, printed;  // `printed` empty: the same
    } kCases[] = {
        {"matmul f32[64,768] f32[768,3072] + bias f32[3072] -> relu -> f32[64,3072]", ""},
        {"matmul bf16[1,2048] bf16[2048,16384]{0,1} -> f32[1,16384]", ""},
        {"matmul bf16[64,768] bf16[768,3072]{*} -> f32[64,3072]", ""},
        {"matmul f32[12,128,64] f32[12,64,128] -> f32[12,128,128]", ""},
        {"matmul f32[2,3] f32[3,4] += f32[2,4]", ""},
        {"einsum \"bmk,bkn->bmn\" f32[2,3,4] f32[2,4,5] -> f32[2,3,5]", ""},
        {"relu f32[3]{0}", "relu f32[3] -> f32[3]"},
        {"max f32[3,1]{1,0} f32[4]", "max f32[3,1] f32[4] -> f32[3,4]"},
        {"reduce_min f32[2,3,4] axis=1 += f32[2,4]", ""},
        {"transpose f32[2,3] perm=1,0", "transpose f32[2,3] -> f32[3,2]"},
        {"transpose f32[2,3] perm=0,1", "transpose f32[2,3] perm=0,1 -> f32[2,3]"},
        {"broadcast f32[] -> f32[4]", "move f32[] -> f32[4]"},
        {"fill 0.5000 -> f32[3]", "fill 0.5 -> f32[3]"},
        {"fill -0 -> f32[3]", ""},
        {"fill -inf -> f32[3]", ""},
        {"fill -nan -> f32[3]", "fill nan -> f32[3]"},
        {"fill 16777216 -> f32[3]", ""},
        {"fill 1e-45 -> f32[3]", ""},
        {"relu f32[3] -> add bias f32[3]", "relu f32[3] + bias f32[3] -> f32[3]"},
        {"relu f32[2,3] + bias f32[2,3]", "relu f32[2,3] + f32[2,3] -> f32[2,3]"},
        {"relu f32[3] -> div f32[] -> max f32[3]", "relu f32[3] / f32[] -> max f32[3] -> f32[3]"},
        {"move f32[2,3]{strides=1,2}", "move f32[2,3]{0,1} -> f32[2,3]"},
        {"move f32[2,3]{strides=4,1} -> f32[2,3]", ""},
        {"move f32[2,1,3]{strides=3,99,1} -> f32[2,1,3]", ""},
        {"move f32[2,1,3]{0,2,1} -> f32[2,1,3]{0,1,2}", ""},
        {"move i8[2] -> u8[2]{strides=2}", ""},
    };
    for (const auto& c : kCases) {
      INFO(c.text);
      Result<Statement> s = parse(c.text);
      REQUIRE(s.ok());
      CHECK(print(*s) == (c.printed.empty() ? c.text : c.printed));
    }
  }

  TEST_CASE("print: random statements are read back exactly") {
    const u64 seed = 1;
    CAPTURE(seed);
    std::mt19937_64 rng(seed);
    testing::RandomStatementOptions options;
    options.free_layouts = true;
    options.other_dtypes = true;
    std::set<std::string> texts;
    std::set<u64> hashes;
    for (int i = 0, n = testing::rounds(20000); i < n; i++) {
      Statement s = testing::random_statement(rng, options);
      std::string text = print(s);
      INFO(text);
      Result<Statement> again = parse(text);
      REQUIRE(again.ok());
      REQUIRE(*again == s);
      REQUIRE(print(*again) == text);
      REQUIRE(hash_of(*again) == hash_of(s));
      texts.insert(text);
      hashes.insert(hash_of(s));
    }
    CHECK(static_cast<int>(texts.size()) > testing::rounds(15000));
    CHECK(hashes.size() == texts.size());
  }

  TEST_CASE("print: random values of fill are read back exactly") {
    const u64 seed = 2;
    CAPTURE(seed);
    std::mt19937_64 rng(seed);
    Statement s;
    s.head = Statement::Head::kFill;
    s.tensors = {{Dtype::kF32, Tensor::Kind::kStrided, {3}, {1}}};
    for (int i = 0; i < 20000; i++) {
      s.fill_value = std::bit_cast<float>(static_cast<u32>(rng()));
      Result<Statement> again = parse(print(s));
      REQUIRE(again.ok());
      REQUIRE(*again == s);
    }
  }

  TEST_CASE("print: equality is that of the text") {
    Statement s = *parse("fill nan -> f32[3]");
    Statement t = s;
    t.fill_value = -std::numeric_limits<float>::quiet_NaN();
    CHECK(s == t);
    CHECK(hash_of(s) == hash_of(t));
    s.fill_value = 0.0f;
    t.fill_value = -0.0f;
    CHECK_FALSE(s == t);
    CHECK(hash_of(s) != hash_of(t));
  }

  TEST_CASE("print: the hash is pinned") {
    Result<Statement> s = parse("matmul f32[64,768] f32[768,3072] -> f32[64,3072]");
    REQUIRE(s.ok());
    CHECK(hash_of(*s) == 2631847970268213488u);
  }
}

}  // namespace morello
