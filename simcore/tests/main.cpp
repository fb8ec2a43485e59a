// Runs all cases, or the case NAME: simcore_tests [NAME].
#include <chrono>
#include <cstdio>

#include "test.hpp"

int main(int argc, char** argv) {
  int run = 0, failed = 0;
  for (const testing::Case& test : testing::cases()) {
    if (argc > 1 && test.name != std::string(argv[1])) continue;
    run++;
    std::string error;
    const auto begin = std::chrono::steady_clock::now();
    try {
      test.body();
    } catch (const std::exception& caught) {
      error = caught.what();
    }
    failed += !error.empty();
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
    std::printf("%-4s %7.2f s  %s\n", error.empty() ? "ok" : "FAIL", seconds.count(), test.name);
    if (!error.empty()) std::printf("     %s\n", error.c_str());
    std::fflush(stdout);
  }
  std::printf("%d of %d cases failed\n", failed, run);
  return run == 0 || failed > 0;
}
