// SPDX-License-Identifier: MIT
// What is swept: one call of the C interface, or a few, with all that belongs to judging it.
#ifndef MORELLO_TESTS_OOM_SCENARIO_HH
#define MORELLO_TESTS_OOM_SCENARIO_HH

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "morello/morello.h"

namespace morello::testing {

struct Scenario {
  std::string name;
  std::vector<std::string> functions;  // of the header, that it is about
  /// Before a trial: files and outputs as they are at first.
  std::function<void()> begin = [] {};
  /// The only part in which allocations fail.
  std::function<morello_status(morello_error**)> call;
  /// What it returns where there is memory.
  morello_status expected = MORELLO_OK;
  /// After such an end: "", or what is wrong with what it made, which end() then releases.
  std::function<std::string()> check = [] { return std::string(); };
  /// After a failure: "", or what it touched that it must not.
  std::function<std::string()> check_failed = [] { return std::string(); };
  std::function<void()> end = [] {};
  bool allocates = true;  // false: must not, ever
  /// What it leaves allocated the first time is for the whole process.
  bool warms_up = false;
};

/// What the scenarios work on is made in the first of these calls, but for those that are cold.
std::vector<Scenario> cold_scenarios();
std::vector<Scenario> spec_scenarios();
std::vector<Scenario> kernel_scenarios();
std::vector<Scenario> sized_scenarios();
std::vector<Scenario> stored_scenarios();
std::vector<Scenario> table_scenarios();
std::vector<Scenario> plain_scenarios();

/// Ends the process with a message if `good` is false: the test itself is broken.
void need(bool good, const std::string& what);

/// A call that makes an object. `check` judges it.
template <class T>
Scenario making(std::string name, std::vector<std::string> functions,
                std::function<morello_status(T**, morello_error**)> make, void (*release)(T*),
                std::function<std::string(const T*)> check = nullptr) {
  static char mark;
  T* const untouched = reinterpret_cast<T*>(&mark);
  auto made = std::make_shared<T*>(untouched);
  Scenario s;
  s.name = std::move(name);
  s.functions = std::move(functions);
  s.begin = [=] { *made = untouched; };
  s.call = [=](morello_error** e) { return make(made.get(), e); };
  s.check = [=] { return check ? check(*made) : std::string(); };
  s.check_failed = [=] {
    return *made == untouched ? "" : std::string("the out-parameter was touched");
  };
  s.end = [=] {
    if (*made != untouched) release(*made);
    *made = untouched;
  };
  return s;
}

}  // namespace morello::testing

#endif
