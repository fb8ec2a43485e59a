// Measurements of the benchmark programs about themselves.
#pragma once

#include <cstdio>
#include <ctime>

inline double cpu_now() {
  timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

// Peak memory of this program. getrusage() would include the process that started it.
inline double peak_rss_mb() {
  double kilobytes = 0;
  if (std::FILE* status = std::fopen("/proc/self/status", "r")) {
    char line[256];
    while (std::fgets(line, sizeof line, status)) std::sscanf(line, "VmHWM: %lf kB", &kilobytes);
    std::fclose(status);
  }
  return kilobytes / 1024;
}
