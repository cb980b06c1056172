// The loop: every lane follows its own path with its own step; a lane that is done takes the next.
//
// All lanes go through the same phases together: predict, correct, accept or shorten. A path at its start and a path at its
// end make rounds with a step of length zero: the first one checks the start and gives the tangent, the last ones are plain
// Newton iterations. No decision in a lane looks at another lane, so a path ends the same way whatever its neighbours,
// the number of threads or the order.
#pragma once

#include "predictor.hpp"
#include "step_control.hpp"

namespace PM_ISA {

using polymargin::PathEnd;
using polymargin::TrackerSettings;
using polymargin::TrackJob;

inline void set_lane(Lanes& value, int lane, double entry) { value[lane] = entry; }
inline void set_lane(DoubleDouble& value, int lane, double entry) {
  value.hi[lane] = entry;
  value.lo[lane] = 0.0;
}
inline double get_lane(const Lanes& value, int lane) { return value[lane]; }
inline double get_lane(const DoubleDouble& value, int lane) { return value.hi[lane] + value.lo[lane]; }

// Complex numbers from and to interleaved doubles.
template <class Real> void load_lane(Complex<Real>* numbers, int lane, const double* source, int count) {
  for (int i = 0; i < count; ++i) {
    set_lane(numbers[i].re, lane, source[2 * i]);
    set_lane(numbers[i].im, lane, source[2 * i + 1]);
  }
}
template <class Real> void store_lane(const Complex<Real>* numbers, int lane, double* place, int count) {
  for (int i = 0; i < count; ++i) {
    place[2 * i] = get_lane(numbers[i].re, lane);
    place[2 * i + 1] = get_lane(numbers[i].im, lane);
  }
}

template <class Real> class Tracker {
 public:
  Tracker(const TrackJob& job, void* memory) : job_(job), settings_(job.settings), pack_(*job.program, memory) {}

  void run_all() {
    const TinyIsZero tiny_is_zero;
    for (int lane = 0; lane < kLanes; ++lane) refill(lane);
    while (any(busy_)) advance();
  }

 private:
  static constexpr int kFinalRounds = 6;
  // A correction below this share of the accuracy asked for is rounding.
  static constexpr double kNoise = 1e-2;
  // A path that still needs ever smaller steps this close to the end has no regular end point. Only solutions far out
  // may announce themselves later: they feel the start system until its weight falls below their tiny leading terms.
  static constexpr double kEndZone = 1e-15, kFarEndZone = 1e-30, kFar = 1e3;

  void refill(int lane) {
    const std::int64_t turn = job_.next->fetch_add(1);
    if (turn >= job_.selected_count) {
      busy_[lane] = 0;
      return;
    }
    const std::int64_t path = job_.selected ? job_.selected[turn] : turn;
    path_[lane] = path;
    busy_[lane] = -1;
    fresh_[lane] = -1;
    steps_[lane] = rejections_[lane] = final_rounds_[lane] = 0;
    remaining_[lane] = job_.stopped_points ? job_.stopped_remaining[path] : 1.0;
    step_[lane] = last_step_[lane] = control_.roughness[lane] = 0.0;
    last_final_[lane] = 1e300;
    const double* start = job_.stopped_points ? job_.stopped_points + 2 * path * pack_.size : job_.start_points + 2 * (path % job_.starts) * pack_.size;
    load_lane(pack_.point, lane, start, pack_.size);
    const int parameters = pack_.program.parameters;
    const double* from = job_.start_parameters;
    const double* to = job_.target_parameters + 2 * (path / job_.starts) * parameters;
    load_lane(pack_.target, lane, to, parameters);
    for (int p = 0; p < parameters; ++p) {
      set_lane(pack_.velocity[p].re, lane, to[2 * p] - from[2 * p]);
      set_lane(pack_.velocity[p].im, lane, to[2 * p + 1] - from[2 * p + 1]);
    }
  }

  void finish(int lane, PathEnd end, double correction) {
    const std::int64_t path = path_[lane];
    store_lane(pack_.point, lane, job_.points + 2 * path * pack_.size, pack_.size);
    job_.ends[path] = static_cast<std::int32_t>(end);
    job_.steps[path] = static_cast<std::int32_t>(steps_[lane]);
    job_.rejections[path] = static_cast<std::int32_t>(rejections_[lane]);
    job_.remaining[path] = remaining_[lane];
    job_.correction[path] = correction;
    job_.condition[path] = std::sqrt(pack_.solver.pivot_ratio[lane]);
    refill(lane);
  }

  void advance() {
    const Lanes magnitude = pack_.measure_point();
    predict(pack_, step_, last_step_);
    const Lanes next = remaining_ - step_;
    const Correction outcome = correct(pack_, next, busy_, kNoise * settings_.accuracy);

    const Mask ending = remaining_ == 0.0;
    const Mask moving = busy_ & ~fresh_ & ~ending;
    const Mask small = outcome.first <= settings_.correction;
    const Mask good = small & (outcome.contraction <= settings_.contraction) &
                      (outcome.second * outcome.contraction * outcome.contraction <= settings_.accuracy);
    const Mask accepted = moving & good, rejected = moving & ~good, started = fresh_ & small;
    move_to_candidate(accepted | started | (ending & (outcome.second < last_final_)), accepted);
    const Lanes tried = select(moving, step_ * control_.factor(outcome, step_, last_step_, accepted, settings_), step_);
    last_step_ = select(accepted, step_, last_step_);
    remaining_ = select(accepted, next, remaining_);
    const Lanes speed = pack_.norm(pack_.slope);
    const Lanes longest = StepControl::longest_step(speed, settings_.change);
    const Lanes wanted = select(started, StepControl::first_step(speed), smaller(tried, longest));
    // A step that would leave a sliver goes to the end at once.
    step_ = select(wanted >= 0.95 * remaining_, remaining_, wanted);
    steps_ -= accepted;  // a mask is -1 where it is set
    rejections_ -= rejected;
    fresh_ &= ~started;

    const Mask stopped = busy_ & (~(started | accepted) | (remaining_ <= kEndZone) | ~(magnitude <= settings_.infinity) |
                                  (steps_ + rejections_ >= settings_.most_steps));
    if (any(stopped))
      for (int lane = 0; lane < kLanes; ++lane)
        if (stopped[lane]) settle(lane, outcome, magnitude[lane], rejected[lane], ending[lane]);
  }

  void move_to_candidate(Mask lanes, Mask with_history) {
    for (int i = 0; i < pack_.size; ++i) {
      pack_.previous_point[i] = select(with_history, pack_.point[i], pack_.previous_point[i]);
      pack_.previous_slope[i] = select(with_history, pack_.slope[i], pack_.previous_slope[i]);
      pack_.point[i] = select(lanes, pack_.candidate[i], pack_.point[i]);
      pack_.slope[i] = select(lanes, pack_.candidate_slope[i], pack_.slope[i]);
    }
  }

  // A lane that may be done: start check, divergence, steps that lead nowhere, the last iterations.
  void settle(int lane, const Correction& outcome, double magnitude, bool rejected, bool ending) {
    const double first = outcome.first[lane];
    if (fresh_[lane]) return finish(lane, PathEnd::start_rejected, first);
    if (!(magnitude <= settings_.infinity)) return finish(lane, PathEnd::diverged, first);
    if (ending) return settle_end(lane, outcome.second[lane]);
    const double remaining = remaining_[lane];
    if (remaining == 0.0) return;  // arrived just now
    if (remaining <= (magnitude < kFar ? kEndZone : kFarEndZone)) return finish(lane, PathEnd::end_not_regular, first);
    if (rejected && step_[lane] <= settings_.smallest_step * remaining)
      return finish(lane, PathEnd::step_too_small, first);
    if (steps_[lane] + rejections_[lane] >= settings_.most_steps) finish(lane, PathEnd::too_many_steps, first);
  }

  // At the end: plain Newton, until it is accurate or stops getting better.
  void settle_end(int lane, double correction) {
    const bool stalled = !(correction < 0.25 * last_final_[lane]) || ++final_rounds_[lane] >= kFinalRounds;
    last_final_[lane] = correction;
    if (correction <= settings_.final_accuracy) return finish(lane, PathEnd::converged, correction);
    if (!stalled) return;
    const bool good_enough = correction <= kNoise * settings_.accuracy;
    finish(lane, good_enough ? PathEnd::converged : PathEnd::end_not_regular, correction);
  }

  const TrackJob& job_;
  const TrackerSettings settings_;
  Pack<Real> pack_;
  StepControl control_;
  Mask busy_ = no_lane(), fresh_ = no_lane(), steps_ = Mask{}, rejections_ = Mask{};
  Lanes remaining_ = broadcast(1.0), step_ = broadcast(0.0), last_step_ = broadcast(0.0), last_final_ = broadcast(0.0);
  std::int64_t path_[kLanes] = {};
  std::int32_t final_rounds_[kLanes] = {};
};

}  // namespace PM_ISA
