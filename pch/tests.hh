// SPDX-License-Identifier: MIT
// Precompiled: what most tests include.
#ifndef MORELLO_PCH_TESTS_HH
#define MORELLO_PCH_TESTS_HH

#include <doctest/doctest.h>

#include "../pch/core.hh"
#include "impl/impl.hh"
#include "spec/statement.hh"
#include "support/result.hh"

#endif
