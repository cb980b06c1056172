// The loop: every lane follows its own path with its own step; a lane that is done takes the next.
//
// All lanes go through the same phases together: evaluate and factor at the current point, expand the
// series, choose a step, predict, correct, accept or shorten. No decision in a lane looks at another
// lane, so a path ends the same way whatever its neighbours, the number of threads or the order.
#pragma once

#include "corrector.hpp"
#include "predictor.hpp"

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

template <class Real> class Tracker {
 public:
  Tracker(const TrackJob& job, void* memory) : job_(job), settings_(job.settings), pack_(*job.program, memory) {}

  void run_all() {
    for (int lane = 0; lane < kLanes; ++lane) refill(lane);
    while (any(busy_)) advance();
  }

 private:
  static constexpr int kFinalCorrections = 6;
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
    steps_[lane] = rejections_[lane] = final_corrections_[lane] = 0;
    remaining_[lane] = 1.0;
    step_[lane] = 0.0;
    last_final_[lane] = 1e300;
    const double* start = job_.start_points + 2 * (path % job_.starts) * pack_.size;
    for (int i = 0; i < pack_.size; ++i) {
      set_lane(pack_.point[i].re, lane, start[2 * i]);
      set_lane(pack_.point[i].im, lane, start[2 * i + 1]);
    }
    const int parameters = pack_.program.parameters;
    const double* from = job_.start_parameters;
    const double* to = job_.target_parameters + 2 * (path / job_.starts) * parameters;
    for (int p = 0; p < parameters; ++p) {
      set_lane(pack_.target[p].re, lane, to[2 * p]);
      set_lane(pack_.target[p].im, lane, to[2 * p + 1]);
      set_lane(pack_.velocity[p].re, lane, to[2 * p] - from[2 * p]);
      set_lane(pack_.velocity[p].im, lane, to[2 * p + 1] - from[2 * p + 1]);
    }
  }

  void finish(int lane, PathEnd end, double correction) {
    const std::int64_t path = path_[lane];
    double* point = job_.points + 2 * path * pack_.size;
    for (int i = 0; i < pack_.size; ++i) {
      point[2 * i] = get_lane(pack_.point[i].re, lane);
      point[2 * i + 1] = get_lane(pack_.point[i].im, lane);
    }
    job_.ends[path] = static_cast<std::int32_t>(end);
    job_.steps[path] = steps_[lane];
    job_.rejections[path] = rejections_[lane];
    job_.remaining[path] = remaining_[lane];
    job_.correction[path] = correction;
    job_.condition[path] = __builtin_sqrt(pack_.solver.pivot_ratio[lane]);
    refill(lane);
  }

  void advance() {
    const Lanes magnitude = pack_.measure_point();
    pack_.place(pack_.point, remaining_);
    pack_.evaluate_and_factor();
    const Lanes largest_step = expand_series(pack_, settings_.trust);
    const Lanes residual = pack_.norm(pack_.series);

    // A lane that ends here takes a new path, which is first evaluated in the next round.
    Mask moving = busy_;
    for (int lane = 0; lane < kLanes; ++lane)
      if (busy_[lane] && settle(lane, residual[lane], magnitude[lane])) moving[lane] = 0;
    if (!any(moving)) return;

    const Lanes first_step = smaller(largest_step * 0.5, broadcast(0.1));
    Lanes step = select(step_ == 0.0, first_step, smaller(step_, largest_step));
    // A step that would leave a sliver goes to the end at once.
    step = select(step >= 0.95 * remaining_, remaining_, step);
    step_ = select(moving, step, step_);
    const Lanes next = remaining_ - step_;

    predict(pack_, step_);
    const Correction outcome = correct(pack_, next, moving, settings_);
    for (int lane = 0; lane < kLanes; ++lane)
      if (moving[lane]) conclude(lane, outcome, next[lane]);
  }

  // Start check, divergence, final refinement. True if the lane makes no step in this round.
  bool settle(int lane, double residual, double magnitude) {
    const bool fresh = steps_[lane] == 0 && rejections_[lane] == 0;
    if (fresh && !(residual <= settings_.correction)) return finish(lane, PathEnd::start_rejected, residual), true;
    if (!(magnitude <= settings_.infinity)) return finish(lane, PathEnd::diverged, residual), true;
    if (remaining_[lane] > (magnitude < kFar ? kEndZone : kFarEndZone)) return false;
    if (remaining_[lane] > 0.0) return finish(lane, PathEnd::end_not_regular, residual), true;

    // At the end: plain Newton, until it is accurate or stops getting better.
    const bool stalled = !(residual < 0.25 * last_final_[lane]) || ++final_corrections_[lane] >= kFinalCorrections;
    if (residual < last_final_[lane])
      for (int i = 0; i < pack_.size; ++i) {
        set_lane_sum(pack_.point[i].re, pack_.series[i].re, lane);
        set_lane_sum(pack_.point[i].im, pack_.series[i].im, lane);
      }
    last_final_[lane] = residual;
    if (residual <= settings_.final_accuracy) return finish(lane, PathEnd::converged, residual), true;
    if (!stalled) return true;
    const bool good_enough = residual <= 1e-2 * settings_.accuracy;
    return finish(lane, good_enough ? PathEnd::converged : PathEnd::end_not_regular, residual), true;
  }

  static void set_lane_sum(Lanes& value, const Lanes& change, int lane) { value[lane] += change[lane]; }
  static void set_lane_sum(DoubleDouble& value, const DoubleDouble& change, int lane) {
    const DoubleDouble sum = value + change;
    value.hi[lane] = sum.hi[lane];
    value.lo[lane] = sum.lo[lane];
  }

  void conclude(int lane, const Correction& outcome, double next) {
    const double taken = step_[lane];
    if (outcome.accepted[lane]) {
      ++steps_[lane];
      remaining_[lane] = next;
      for (int i = 0; i < pack_.size; ++i) {
        copy_lane(pack_.point[i].re, pack_.candidate[i].re, lane);
        copy_lane(pack_.point[i].im, pack_.candidate[i].im, lane);
      }
      step_[lane] = taken * growth(outcome.first[lane], outcome.contraction[lane]);
    } else {
      ++rejections_[lane];
      step_[lane] = 0.5 * taken;
      if (step_[lane] <= settings_.smallest_step * remaining_[lane])
        return finish(lane, PathEnd::step_too_small, outcome.first[lane]);
    }
    if (remaining_[lane] > 0.0 && steps_[lane] + rejections_[lane] >= settings_.most_steps)
      finish(lane, PathEnd::too_many_steps, outcome.first[lane]);
  }

  // The prediction error grows like step^(K+1); aim well inside what the corrector accepts.
  double growth(double first, double contraction) const {
    const double by_contraction = 0.2 * settings_.contraction / (contraction + 1e-30);
    const double by_size = 0.2 * settings_.correction / (first + 1e-30);
    const double slack = by_contraction < by_size ? by_contraction : by_size;
    const double factor = __builtin_pow(slack, 1.0 / (kOrder + 1));
    return factor < 0.5 ? 0.5 : factor > 4.0 ? 4.0 : factor;
  }

  static void copy_lane(Lanes& to, const Lanes& from, int lane) { to[lane] = from[lane]; }
  static void copy_lane(DoubleDouble& to, const DoubleDouble& from, int lane) {
    to.hi[lane] = from.hi[lane];
    to.lo[lane] = from.lo[lane];
  }

  const TrackJob& job_;
  const TrackerSettings settings_;
  Pack<Real> pack_;
  Mask busy_ = no_lane();
  Lanes remaining_ = broadcast(1.0), step_ = broadcast(0.0), last_final_ = broadcast(0.0);
  std::int64_t path_[kLanes] = {};
  std::int32_t steps_[kLanes] = {}, rejections_[kLanes] = {}, final_corrections_[kLanes] = {};
};

}  // namespace PM_ISA
