// The same work on several threads, or on as many of them as the system gives; the calling one is among them.
#pragma once

#include <atomic>
#include <cstdint>
#include <system_error>
#include <thread>
#include <vector>

namespace polymargin {

// work(0), …, work(workers − 1), each on a thread of its own; work is shared by whoever does it, so fewer will do.
template <class Work>
void on_threads(int workers, const Work& work) {
  std::vector<std::thread> pool;
  pool.reserve(workers);
  for (int w = 1; w < workers; ++w) {
    try {
      pool.emplace_back(work, w);
    } catch (const std::system_error&) {
      break;
    }
  }
  work(0);
  for (std::thread& worker : pool) worker.join();
}

// Rows 0, …, count − 1, some at a time; every thread makes a worker first and calls it with one row after the other.
template <class Make>
void for_rows(std::int64_t count, std::int64_t at_a_time, int threads, const Make& make) {
  std::atomic<std::int64_t> next{0};
  const std::int64_t pieces = (count + at_a_time - 1) / at_a_time;
  on_threads(pieces < threads ? static_cast<int>(pieces) : threads, [&](int) {
    auto worker = make();
    for (std::int64_t first; (first = at_a_time * next++) < count;)
      for (std::int64_t row = first; row < count && row < first + at_a_time; ++row) worker(row);
  });
}

}  // namespace polymargin
