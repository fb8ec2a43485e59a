// Runs all cases, or the case NAME: simcore_tests [NAME].
#include <chrono>
#include <cstdio>
#include <cstring>

#include "test.hpp"

int main(int argc, char** argv) {
  int run = 0, failed = 0;
  for (const testing::Case& test : testing::cases()) {
    if (argc > 1 && std::strcmp(argv[1], test.name) != 0) continue;
    run++;
    std::string error;
    const auto begin = std::chrono::steady_clock::now();
    try {
      test.body();
    } catch (const std::exception& caught) {
      error = caught.what();
      failed++;
    }
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
    std::printf("%-4s %7.2f s  %s\n", error.empty() ? "ok" : "FAIL", seconds.count(), test.name);
    if (!error.empty()) std::printf("     %s\n", error.c_str());
    std::fflush(stdout);
  }
  std::printf("%d of %d cases failed\n", failed, run);
  if (run == 0) std::printf("no case has that name\n");
  return run == 0 || failed > 0;
}
