// Workers: threads that follow the paths of a queue of jobs, or find the nearest points of quadrics, and the memory they work in.
//
// A job is one program with its starts and targets; its paths are taken one by one from a counter of its own. The queue may
// hold many jobs: a worker takes paths of the first job that has any left, so one call can serve points, rivals and paths
// of several programs together, and no worker waits for another until the queue is empty.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <new>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "interface.hpp"
#include "parallel.hpp"

namespace polymargin {

struct AlignedFree {
  void operator()(void* memory) const { std::free(memory); }
};
using Workspace = std::unique_ptr<void, AlignedFree>;

inline Workspace allocate(std::int64_t bytes) {
  void* memory = std::aligned_alloc(64, static_cast<std::size_t>((bytes + 63) / 64 * 64));
  if (!memory) throw std::bad_alloc();
  return Workspace(memory);
}

// The workspaces of one call, taken from and given back to those that the calling thread keeps: thousands of short jobs would
// otherwise scatter the heap. A call inside a call (from a signal handler) finds none kept and makes its own.
class Workspaces {
 public:
  Workspaces(int count, std::int64_t bytes) : all_(std::exchange(kept(), {})) {
    if (all_.bytes < bytes) all_ = {{}, bytes};
    while (static_cast<int>(all_.memory.size()) < count) all_.memory.push_back(allocate(all_.bytes));
  }
  ~Workspaces() {
    if (all_.bytes <= kLargestKept) kept() = std::move(all_);
  }
  Workspaces(const Workspaces&) = delete;
  Workspaces& operator=(const Workspaces&) = delete;
  void* operator[](int index) const { return all_.memory[index].get(); }

 private:
  struct Kept {
    std::vector<Workspace> memory;
    std::int64_t bytes = 0;  // of each
  };
  static constexpr std::int64_t kLargestKept = 1 << 24;
  static Kept& kept() {
    static thread_local Kept workspaces;
    return workspaces;
  }
  Kept all_;
};

// Queues with at least this many paths can be interrupted; shorter ones are over before anybody has noticed.
constexpr std::int64_t kLongQueue = 4096;
// How often somebody who waits for a long one is asked whether to go on.
constexpr std::chrono::milliseconds kPatience{50};

inline std::int64_t path_count(const std::vector<TrackJob>& jobs) {
  std::int64_t count = 0;
  for (const TrackJob& job : jobs) count += job.selected_count;
  return count;
}

// Follows all paths on several threads, or on as many of them as can be started. Around a long queue this thread keeps free
// to ask `interrupted`, which says it once: the workers then stop when the paths in their lanes are done. False if so.
template <class Interrupted>
bool run_jobs(const Kernels& kernels, const std::vector<TrackJob>& jobs, int threads, bool double_double, Interrupted interrupted) {
  const std::int64_t paths = path_count(jobs), packs = (paths + kernels.lanes - 1) / kernels.lanes;
  const int workers = static_cast<int>(packs < threads ? (packs < 1 ? 1 : packs) : (threads < 1 ? 1 : threads));
  std::int64_t bytes = 0;
  for (const TrackJob& job : jobs) {
    const std::int64_t needed = kernels.workspace_bytes(*job.program, double_double);
    if (needed > bytes) bytes = needed;
  }
  const Workspaces workspaces(workers, bytes);

  std::mutex mutex;
  std::condition_variable one_is_done;
  int busy = 0;
  const auto work = [&](int worker) {
    for (const TrackJob& job : jobs) kernels.track(job, workspaces[worker], double_double);
  };
  const auto work_in_thread = [&](int worker) {
    work(worker);
    const std::lock_guard<std::mutex> lock(mutex);
    --busy;
    one_is_done.notify_one();
  };

  const bool watched = paths >= kLongQueue;
  std::vector<std::thread> pool;
  pool.reserve(workers);
  std::unique_lock<std::mutex> lock(mutex);
  for (int w = watched ? 0 : 1; w < workers; ++w) {
    try {
      pool.emplace_back(work_in_thread, w);
      ++busy;
    } catch (const std::system_error&) {
      break;
    }
  }
  if (!watched || pool.empty()) {
    lock.unlock();
    work(0);
    lock.lock();
  }
  bool stopped = false;
  while (watched && busy > 0) {
    if (one_is_done.wait_for(lock, kPatience) == std::cv_status::no_timeout || stopped) continue;
    lock.unlock();
    stopped = interrupted();
    lock.lock();
    if (stopped)
      for (const TrackJob& job : jobs) *job.next = job.selected_count;
  }
  lock.unlock();
  for (std::thread& worker : pool) worker.join();
  return !stopped;
}

// Rows of a quadric that a thread takes at a time; fewer are not worth starting one.
constexpr std::int64_t kPiece = 64;

// Some rows of a job as a job of their own.
inline NearestJob piece_of(NearestJob job, std::int64_t first) {
  job.rows = job.rows - first < kPiece ? job.rows - first : kPiece;
  job.chosen += first;
  job.kinds += first;
  job.doubtful += first;
  job.multipliers += first;
  job.distances += first;
  job.steps += first * job.quadric.size;
  return job;
}

// All rows of all quadrics on several threads.
inline void run_nearest(const Kernels& kernels, const std::vector<NearestJob>& jobs, int threads) {
  std::vector<NearestJob> pieces;
  std::int64_t bytes = 0, rows = 0;
  for (const NearestJob& job : jobs) {
    const std::int64_t needed = kernels.quadric_bytes(job.quadric);
    if (needed > bytes) bytes = needed;
    rows += job.rows;
    for (std::int64_t first = 0; first < job.rows; first += kPiece) pieces.push_back(piece_of(job, first));
  }
  const std::int64_t most = rows / kPiece < threads ? rows / kPiece : threads;
  const int workers = most < 1 ? 1 : static_cast<int>(most);
  const Workspaces workspaces(workers, bytes);
  std::atomic<std::size_t> next{0};
  on_threads(workers, [&](int worker) {
    for (std::size_t piece; (piece = next++) < pieces.size();) kernels.nearest(pieces[piece], workspaces[worker]);
  });
}

}  // namespace polymargin
