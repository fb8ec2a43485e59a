// The test harness. TEST(name) { ... } registers a case, and DEEP_TEST one that only `make test-deep` runs. A failed
// CHECK ends the case and reports the place and the values.
#pragma once

#include <cmath>
#include <functional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace testing {

struct Case {
  const char* name;
  void (*body)();
};

inline std::vector<Case>& cases() {
  static std::vector<Case> all;
  return all;
}

struct Registered {
  Registered(const char* name, void (*body)()) { cases().push_back({name, body}); }
};

struct Failure : std::runtime_error {
  using std::runtime_error::runtime_error;
};

[[noreturn]] inline void fail(const char* file, int line, const std::string& what) {
  std::ostringstream out;
  out << file << ':' << line << ": " << what;
  throw Failure(out.str());
}

template <class A, class B>
void equal(const char* file, int line, const char* text, const A& got, const B& wanted) {
  if (got == wanted) return;
  std::ostringstream out;
  out << text << " is " << got << ", not " << wanted;
  fail(file, line, out.str());
}

inline void near(const char* file, int line, const char* text, double got, double wanted, double margin) {
  if (std::abs(got - wanted) <= margin) return;
  std::ostringstream out;
  out.precision(10);
  out << text << " is " << got << ", not " << wanted << " within " << margin;
  fail(file, line, out.str());
}

// Returns the message of the Error that `body` throws. The message must contain every one of `parts`.
template <class Error>
std::string thrown(const char* file, int line, const char* text, const std::function<void()>& body,
                   const std::vector<std::string>& parts) {
  std::string message;
  try {
    body();
  } catch (const Error& error) {
    message = error.what();
    for (const std::string& part : parts)
      if (message.find(part) == std::string::npos) fail(file, line, "'" + part + "' is missing in: " + message);
    return message;
  }
  fail(file, line, std::string(text) + " throws nothing");
}

}  // namespace testing

#define TEST(name)                                                        \
  static void case_##name();                                              \
  static const testing::Registered registered_##name(#name, case_##name); \
  static void case_##name()
#define DEEP_TEST(name) TEST(name)

#define CHECK(condition)                                                          \
  do {                                                                            \
    if (!(condition)) testing::fail(__FILE__, __LINE__, "not true: " #condition); \
  } while (false)
// As CHECK, with a text (any std::string) that identifies the round of a loop.
#define CHECK_FOR(condition, text)                                                                               \
  do {                                                                                                           \
    if (!(condition)) testing::fail(__FILE__, __LINE__, std::string("not true: " #condition ", for ") + (text)); \
  } while (false)
#define CHECK_EQ(got, wanted) testing::equal(__FILE__, __LINE__, #got, got, wanted)
#define CHECK_NEAR(got, wanted, margin) testing::near(__FILE__, __LINE__, #got, got, wanted, margin)
// CHECK_THROWS(ConfigError, expression, "part of the message", ...)
#define CHECK_THROWS(Error, expression, ...) \
  testing::thrown<Error>(                    \
      __FILE__, __LINE__, #expression, [&] { static_cast<void>(expression); }, std::vector<std::string>{__VA_ARGS__})
