// The device on the host: one path at a time. The lanes of a group take turns, each running to its next barrier: fibres, so
// that a missing barrier shows every time and not by chance. The core of the CPU has one lane (PM_ONE_LANE), and no barriers.
#pragma once

#if !defined(PM_ONE_LANE)
#include <ucontext.h>
#endif

#include <cmath>
#include <cstdlib>
#include <vector>

#define PM_DEVICE inline
#define PM_UNROLL
#define PM_KEEP_LOOP
#define PM_TABLE static const
#define PM_WHOLE
#define PM_FENCE
#define PM_FORGET
#define PM_UNKNOWN(number)
#define PM_GLOBAL(pointer)

inline double fused(double a, double b, double c) { return a * b + c; }
inline double rough_reciprocal(double a) { return 1.0 / a; }
inline double rough_inverse_root(double a) { return 1.0 / std::sqrt(a); }
inline double root(double a) { return std::sqrt(a); }
inline double infinite() { return HUGE_VAL; }
inline unsigned add_to(unsigned* sum, unsigned more) {
  const unsigned before = *sum;
  *sum += more;
  return before;
}

#if defined(PM_ONE_LANE)
inline void block_barrier() {}
#else
// As many fibres as a group or a block has lanes, taking turns at `barrier`.
class Lanes {
 public:
  static constexpr int kStack = 1 << 18;

  template <class Body> static void run(int count, Body& body) {
    Lanes lanes(count);
    current() = &lanes;
    lanes.body_ = [](void* what, int lane) { (*static_cast<Body*>(what))(lane); };
    lanes.what_ = &body;
    for (int lane = 0; lane < count; ++lane) {
      getcontext(&lanes.contexts_[lane]);
      lanes.contexts_[lane].uc_stack.ss_sp = lanes.stacks_[lane].data();
      lanes.contexts_[lane].uc_stack.ss_size = kStack;
      lanes.contexts_[lane].uc_link = nullptr;
      makecontext(&lanes.contexts_[lane], &Lanes::enter, 0);
    }
    lanes.left_ = count;
    lanes.turn_ = 0;
    swapcontext(&lanes.home_, &lanes.contexts_[0]);
  }
  static void barrier() { current()->pass_on(); }
  static double* exchange() { return current()->exchange_.data(); }

 private:
  explicit Lanes(int count) : contexts_(count), stacks_(count, std::vector<char>(kStack)), exchange_(count), count_(count) {}
  static Lanes*& current() {
    static thread_local Lanes* lanes = nullptr;
    return lanes;
  }
  static void enter() {
    Lanes& lanes = *current();
    lanes.body_(lanes.what_, lanes.turn_);
    // Lanes end together, in turn; the last one goes home.
    if (--lanes.left_ == 0) setcontext(&lanes.home_);
    lanes.turn_ = (lanes.turn_ + 1) % lanes.count_;
    setcontext(&lanes.contexts_[lanes.turn_]);
  }
  void pass_on() {
    const int me = turn_;
    turn_ = (me + 1) % count_;
    swapcontext(&contexts_[me], &contexts_[turn_]);
  }

  std::vector<ucontext_t> contexts_;
  std::vector<std::vector<char>> stacks_;
  std::vector<double> exchange_;
  ucontext_t home_;
  void (*body_)(void*, int) = nullptr;
  void* what_ = nullptr;
  int count_, left_ = 0, turn_ = 0;
};

inline void block_barrier() { Lanes::barrier(); }
#endif
