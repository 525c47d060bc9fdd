// SPDX-License-Identifier: MIT
// What a build's sanitizer rules out.
#ifndef MORELLO_TESTS_SUPPORT_SANITIZED_HH
#define MORELLO_TESTS_SUPPORT_SANITIZED_HH

namespace morello::testing {

#if defined(__has_feature)
inline constexpr bool kThreadSanitizer = __has_feature(thread_sanitizer);
inline constexpr bool kSanitized = __has_feature(address_sanitizer) || kThreadSanitizer;
#elif defined(__SANITIZE_THREAD__)
inline constexpr bool kThreadSanitizer = true, kSanitized = true;
#elif defined(__SANITIZE_ADDRESS__)
inline constexpr bool kThreadSanitizer = false, kSanitized = true;
#else
inline constexpr bool kThreadSanitizer = false, kSanitized = false;
#endif

}  // namespace morello::testing

#endif
