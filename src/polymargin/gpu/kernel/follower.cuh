// The follower: one path per thread or group, the same rules as the CPU core (cpp/tracker.hpp), one loop body for everything.
//
// Start, step, rejection and the last iterations differ by a few numbers only, so the lanes of a warp never part: each round
// predicts, corrects twice and judges. A lane whose path has ended takes the next one from the queue. Where elimination
// without exchanges met a small pivot, a step on the way is tried again at another length; at a start or an end, which
// cannot be moved, the path is given back with a name of its own.

struct Follower {
  // As in cpp/step_control.hpp and cpp/tracker.hpp, which say why.
  static constexpr double kAim = 0.25, kFirstChange = 0.05, kLongestFirst = 0.05;
  static constexpr double kLargestGrowth = 2.0, kSmallestGrowth = 0.5, kLargestReduction = 0.5, kSmallestReduction = 0.1;
  static constexpr double kLargestTrend = 4.0, kNoise = 1e-2, kEndZone = 1e-15, kFarEndZone = 1e-30, kFar = 1e3;
  static constexpr int kFinalRounds = 6;

  const Job& job;
  Path path;
  unsigned number = 0;
  bool busy = true, fresh = false;
  int steps = 0, rejections = 0, final_rounds = 0;
  double remaining = 0.0, step = 0.0, last_step = 0.0, last_final = 0.0, roughness = 0.0;

  PM_DEVICE void take_next(unsigned turn) {
    busy = turn < job.path_count;
    if (!busy) return;
    number = job.selected ? job.selected[turn] : turn;
    fresh = true;
    steps = rejections = final_rounds = 0;
    remaining = 1.0;
    step = last_step = roughness = 0.0;
    last_final = 1e300;
    const unsigned target = number / job.start_count;
    path.target = job.targets + static_cast<long long>(target) * PM_PARAMETERS;
    const Complex* start = job.starts + static_cast<long long>(number - target * job.start_count) * PM_SIZE;
    PM_UNROLL
    for (int e = 0; e < kEntries; ++e) {
      path.entry(kPoint, e) = path.holds(e) ? start[path.index(e)] : Complex{0.0, 0.0};
      path.entry(kSlope, e) = path.entry(kPreviousSlope, e) = path.entry(kPreviousPoint, e) = {0.0, 0.0};
    }
  }

  PM_DEVICE void give_back(int end, double correction) {
    const long long place = number;
    PM_UNROLL
    for (int e = 0; e < kEntries; ++e)
      if (path.writes(e)) job.points[place * PM_SIZE + path.index(e)] = path.entry(kPoint, e);
    if (!path.writes(kEntries - 1)) return;
    job.ends[place] = end;
    job.steps[place] = steps;
    job.rejections[place] = rejections;
    job.remaining[place] = remaining;
    job.correction[place] = correction;
    job.condition[place] = rough_root(path.elimination.condition);
    if (job.left && end != kConverged && end != kDiverged) job.left[add_to(job.left_count, 1u)] = number;
  }

  // One round; how the path ended, if it did.
  PM_DEVICE int advance(double& correction) {
    double largest = 0.0;
    PM_UNROLL
    for (int e = 0; e < kEntries; ++e) largest = largest_or_nan(largest, magnitude_squared(path.entry(kPoint, e)));
    const double magnitude = Path::over_group(rough_root(largest));
    const double floor = larger(magnitude * magnitude * 1e-12, 1e-4);
    predict();
    const double next = remaining - step;
    path.remaining = next;
    bool usable = true;
    Path::Factors factors;
    double first = 0.0, second = 0.0;
    int passes = 2;
    PM_UNKNOWN(passes)
    PM_KEEP_LOOP
    for (int pass = 0; pass < passes; ++pass) {
      PM_FENCE
      Complex newton[kEntries];
      path.solve(factors, newton);
      usable = usable && path.elimination.largest_multiplier <= kUsableMultiplier;
      first = second;
      second = size(newton, floor);
      PM_UNROLL
      for (int e = 0; e < kEntries; ++e) path.entry(kCandidate, e) = path.entry(kCandidate, e) - newton[e];
    }
    Complex slope[kEntries];
    path.find_slope(factors, slope);
    const double speed = size(slope, floor);
    return judge(slope, first, second, speed, magnitude, usable, next, correction);
  }

 private:
  // The cubic through the last two points and their tangents (cpp/predictor.hpp).
  PM_DEVICE void predict() {
    const double ratio = last_step == 0.0 ? 0.0 : step / last_step, further = ratio + 1.0;
    const double along = -step * further * further, along_previous = -step * ratio * further;
    const double back = -ratio * ratio * (3.0 + 2.0 * ratio);
    PM_UNROLL
    for (int e = 0; e < kEntries; ++e) {
      const Complex now = path.entry(kPoint, e);
      Complex ahead = add_scaled(along, path.entry(kSlope, e), now);
      ahead = add_scaled(along_previous, path.entry(kPreviousSlope, e), ahead);
      path.entry(kCandidate, e) = add_scaled(back, now - path.entry(kPreviousPoint, e), ahead);
    }
  }

  // The largest entry, each measured against its coordinate of the point.
  PM_DEVICE double size(const Complex (&vector)[kEntries], double floor) {
    double result = 0.0;
    PM_UNROLL
    for (int e = 0; e < kEntries; ++e) {
      const double coordinate = larger(magnitude_squared(path.entry(kPoint, e)), floor);
      result = largest_or_nan(result, magnitude_squared(vector[e]) * rough_reciprocal(coordinate));
    }
    return rough_root(Path::over_group(result));
  }

  PM_DEVICE int judge(const Complex (&slope)[kEntries], double first, double second, double speed, double magnitude, bool usable,
                      double next, double& correction) {
    const bool ending = remaining == 0.0, moving = !fresh && !ending;
    const double contraction = second <= kNoise * job.accuracy ? 0.0 : second * rough_reciprocal(first);
    const bool small = usable && first <= job.largest_correction;
    const bool good = small && contraction <= job.contraction && second * contraction * contraction <= job.accuracy;
    const bool accepted = moving && good, started = fresh && small, refined = ending && usable && second < last_final;
    const double tried = step;
    if (moving) step *= usable ? growth(first, contraction, accepted) : kLargestReduction;
    PM_UNROLL
    for (int e = 0; e < kEntries; ++e) {
      const Complex point = path.entry(kPoint, e);
      if (accepted) {
        path.entry(kPreviousPoint, e) = point;
        path.entry(kPreviousSlope, e) = path.entry(kSlope, e);
      }
      if (accepted || started || refined) {
        path.entry(kPoint, e) = path.entry(kCandidate, e);
        path.entry(kSlope, e) = slope[e];
      }
    }
    if (accepted) {
      last_step = tried;
      remaining = next;
      ++steps;
      step = smaller(step, job.change * rough_reciprocal(speed + 1e-30));
    }
    if (started) step = smaller(kLongestFirst, kFirstChange * rough_reciprocal(speed + 1e-30));
    const bool rejected = moving && !good;
    if (rejected) ++rejections;
    // A step that would leave a sliver goes to the end at once.
    if (step >= 0.95 * remaining) step = remaining;

    correction = first;
    if (fresh) {
      fresh = !started;
      return started ? kGoesOn : usable ? kStartRejected : kNeedsExchanges;
    }
    if (!(magnitude <= job.infinity)) return kDiverged;
    if (ending) {
      correction = second;
      const Soundness& last = path.elimination;
      const bool sound = last.largest_multiplier <= kSoundMultiplier && last.pivot_ratio <= kLargestPivotRatio;
      const int end = usable ? judge_end(second) : kNeedsExchanges;
      return end == kConverged && !sound ? kNeedsExchanges : end;
    }
    if (remaining == 0.0) return kGoesOn;  // arrived just now
    if (remaining <= (magnitude < kFar ? kEndZone : kFarEndZone)) return kEndNotRegular;
    if (rejected && step <= job.smallest_step * remaining) return kStepTooSmall;
    return steps + rejections >= job.most_steps ? kTooManySteps : kGoesOn;
  }

  // At the end: plain Newton, until it is accurate or stops getting better.
  PM_DEVICE int judge_end(double second) {
    const bool stalled = !(second < 0.25 * last_final) || ++final_rounds >= kFinalRounds;
    last_final = second;
    if (second <= job.final_accuracy) return kConverged;
    if (!stalled) return kGoesOn;
    return second <= kNoise * job.accuracy ? kConverged : kEndNotRegular;
  }

  // What the step tried is to be multiplied with (cpp/step_control.hpp).
  PM_DEVICE double growth(double first, double contraction, bool accepted) {
    const double by_contraction = kAim * job.contraction * rough_reciprocal(contraction + 1e-30);
    const double by_size = kAim * job.largest_correction * rough_reciprocal(first + 1e-30);
    const double slack = rough_root(smaller(by_contraction, by_size));
    const double rough = rough_reciprocal(slack * step * (step + last_step));
    const double trend = larger(1.0, smaller(rough * rough_reciprocal(roughness), kLargestTrend));
    const double left = accepted && roughness > 0.0 ? slack * rough_reciprocal(trend) : slack;
    if (accepted && last_step > 0.0) roughness = rough;
    const double root = 0.5 * (rough_root(1.0 + 4.0 * left * (1.0 + last_step * rough_reciprocal(step))) - 1.0);
    const double most = accepted ? kLargestGrowth : kLargestReduction, least = accepted ? kSmallestGrowth : kSmallestReduction;
    return larger(smaller(root, most), least);
  }
};
