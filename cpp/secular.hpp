// The nearest point of a quadric in the eigenbasis of its matrix, for one view after another; polymargin/quadric/secular.py has the
// mathematics and says what the cases are.
//
// A view is flipped so that its value is positive. Sums over the eigenvalues run in lanes, whose rest is filled with
// eigenvalues and slopes of zero: they add nothing.
#pragma once

#include "quadric_views.hpp"

namespace PM_ISA {

using polymargin::NearestJob;
using polymargin::NearestKind;

constexpr double kEpsilon = 2.220446049250313e-16;
constexpr int kMostIterations = 200;
constexpr double kLastStep = 1e-9;  // a step in log x after which Newton's method has converged
constexpr double kSmallest = 1e-200;

// phi and dphi/dlog x.
struct OnCurve {
  double phi, slope;
};

// Solves phi(x) = target for the one x in [low, high]: Newton's method on log phi as a function of log x, safeguarded by the bracket.
template <class Curve> double root(const Curve& curve, double target, double low, double high, double guess) {
  double x = guess < low ? low : guess;
  if (x > high) x = high;
  double before = __builtin_inf();
  for (int iteration = 0; iteration < kMostIterations; ++iteration) {
    const OnCurve here = curve(x);
    const double excess = __builtin_log(here.phi / target), size = __builtin_fabs(excess);
    const double step = excess * here.phi / here.slope;
    const bool converged = __builtin_fabs(step) <= kLastStep;
    const double newton = excess == 0.0 ? x : x * __builtin_exp(-step);
    ((excess > 0.0) == (here.slope > 0.0) ? high : low) = x;
    // One more step of Newton's method squares an error of kLastStep away; a rounding error may put it outside.
    if (converged) return newton;
    if (size <= 8 * kEpsilon || high - low <= kEpsilon * high) return x;
    const bool good = newton > low && newton < high && size <= before / 2;
    before = good ? size : __builtin_inf();
    x = good ? newton : __builtin_sqrt(low) * __builtin_sqrt(high);
  }
  return x;
}

// What all views of one sign have in common: the eigenvalues of the flipped matrix.
struct Flipped {
  Lanes *eigenvalues, *relative, *gaps;  // relative = eigenvalues / |lowest|, gaps = relative + 1
  double lowest;
  std::int64_t lowest_place;
};

class Secular {
 public:
  static std::int64_t packs(std::int64_t size) { return (size + kLanes - 1) / kLanes; }
  static std::int64_t bytes(std::int64_t size) { return 9 * packs(size) * std::int64_t(sizeof(Lanes)); }

  Secular(const NearestJob& job, void* memory)
      : job_(job), eigenvalues_(job.quadric.eigenvalues), size_(job.quadric.size), packs_(packs(size_)) {
    Lanes* free = static_cast<Lanes*>(memory);
    const auto take = [&] { return (free += packs_) - packs_; };
    for (Flipped& flipped : flipped_) flipped = {take(), take(), take(), 0.0, 0};
    slopes_ = take();
    squares_ = take();
    depths_ = take();
    flip(flipped_[0], 1.0);
    flip(flipped_[1], -1.0);
  }

  // Sets the step, the kind and the multiplier of a row, seen with this value and gradient.
  void solve(std::int64_t row, double value, const double* gradient, double value_size) {
    double* step = job_.steps + row * size_;
    for (std::int64_t i = 0; i < size_; ++i) step[i] = 0.0;
    if (!(value > 0.0 || value < 0.0)) return set(row, NearestKind::on_boundary, 0.0);
    sign_ = value > 0.0 ? 1.0 : -1.0;
    side_ = &flipped_[value > 0.0 ? 0 : 1];
    value_size_ = value_size;
    load(gradient);
    if (side_->lowest < 0.0) {
      clean();
      indefinite(row, sign_ * value, step);
    } else {
      semidefinite(row, sign_ * value, sign_ * job_.least, step);
    }
  }

 private:
  const NearestJob& job_;
  const double* eigenvalues_;
  const std::int64_t size_, packs_;
  Flipped flipped_[2];
  Lanes *slopes_, *squares_, *depths_;
  // Of the view at hand.
  double sign_ = 1.0, value_size_ = 0.0;
  const Flipped* side_ = nullptr;

  void set(std::int64_t row, NearestKind kind, double multiplier) {
    job_.kinds[row] = static_cast<std::int8_t>(kind);
    job_.multipliers[row] = multiplier;
  }

  static void put(Lanes* lanes, std::int64_t i, double value) { lanes[i / kLanes][i % kLanes] = value; }
  static double entry(const Lanes* lanes, std::int64_t i) { return lanes[i / kLanes][i % kLanes]; }

  void flip(Flipped& side, double sign) {
    for (std::int64_t i = 0; i < packs_; ++i) side.eigenvalues[i] = broadcast(0.0);
    for (std::int64_t i = 0; i < size_; ++i) {
      const double eigenvalue = sign * eigenvalues_[i];
      put(side.eigenvalues, i, eigenvalue);
      if (i == 0 || eigenvalue < side.lowest) {
        side.lowest = eigenvalue;
        side.lowest_place = i;
      }
    }
    const double size = __builtin_fabs(side.lowest);
    for (std::int64_t i = 0; i < packs_; ++i) {
      side.relative[i] = side.eigenvalues[i] / broadcast(size > 0.0 ? size : 1.0);
      side.gaps[i] = side.relative[i] + 1.0;
    }
  }

  void load(const double* gradient) {
    slopes_[packs_ - 1] = broadcast(0.0);
    for (std::int64_t i = 0; i < size_; ++i) put(slopes_, i, sign_ * gradient[i]);
    for (std::int64_t i = 0; i < packs_; ++i) squares_[i] = slopes_[i] * slopes_[i];
  }

  // Sets g to zero on the lowest eigenspace where the error of its computed eigenvectors can account for it.
  void clean() {
    const double lowest = side_->lowest, end = lowest + job_.cluster_tolerance;
    double extreme = 0.0;
    Lanes others = broadcast(0.0);
    for (std::int64_t i = 0; i < packs_; ++i) {
      const Mask is_extreme = side_->eigenvalues[i] <= broadcast(end);
      const Lanes quotient = slopes_[i] / select(is_extreme, broadcast(1.0), side_->eigenvalues[i] - lowest);
      others += select(is_extreme, broadcast(0.0), quotient * quotient);
      extreme += total(select(is_extreme, squares_[i], broadcast(0.0)));
    }
    if (!(__builtin_sqrt(extreme) <= job_.tolerance * __builtin_sqrt(total(others)))) return;
    for (std::int64_t i = 0; i < packs_; ++i) {
      const Mask is_extreme = side_->eigenvalues[i] <= broadcast(end);
      slopes_[i] = select(is_extreme, broadcast(0.0), slopes_[i]);
      squares_[i] = select(is_extreme, broadcast(0.0), squares_[i]);
    }
  }

  double sum_of_squares() const {
    Lanes sum = broadcast(0.0);
    for (std::int64_t i = 0; i < packs_; ++i) sum += squares_[i];
    return total(sum);
  }

  // phi and phi' where d(i) are the denominators, summed from terms of one sign.
  template <class Denominator> OnCurve phi(double multiplier, const Denominator& d) const {
    Lanes first = broadcast(0.0), second = broadcast(0.0);
    for (std::int64_t i = 0; i < packs_; ++i) {
      const Lanes inverse = 1.0 / d(i), weighted = squares_[i] * inverse;
      first += fused(weighted, inverse, weighted);
      second = fused(weighted * inverse, inverse, second);
    }
    return {multiplier / 2 * total(first), total(second)};
  }

  OnCurve from_zero(double x) const {
    const Lanes one = broadcast(1.0), twice = broadcast(2 * x);
    const OnCurve found = phi(x, [&](std::int64_t i) { return fused(twice, side_->eigenvalues[i], one); });
    return {found.phi, found.slope * x};
  }

  OnCurve from_pole(double end, double t) const {
    const Lanes way = broadcast(t);
    const OnCurve found = phi(end * (1 - t), [&](std::int64_t i) { return fused_negated(way, side_->relative[i], side_->gaps[i]); });
    return {found.phi, -found.slope * t * end};
  }

  OnCurve from_infinity(double x) const {
    const Lanes one = broadcast(1.0), twice = broadcast(2 * x);
    Lanes value = broadcast(0.0), slope = broadcast(0.0);
    for (std::int64_t i = 0; i < packs_; ++i) {
      const Lanes inverse = 1.0 / fused(twice, side_->eigenvalues[i], one), term = depths_[i] * inverse * inverse;
      value += term;
      slope = fused(term * inverse, side_->eigenvalues[i], slope);
    }
    return {total(value), -4 * x * total(slope)};
  }

  void step_with(double x, double* step) const {
    for (std::int64_t i = 0; i < size_; ++i) step[i] = -x * entry(slopes_, i) / (1 + 2 * x * entry(side_->eigenvalues, i));
  }

  void indefinite(std::int64_t row, double value, double* step) {
    const double lowest = side_->lowest, end = 1 / (2 * __builtin_fabs(lowest));
    Lanes terms = broadcast(0.0);
    for (std::int64_t i = 0; i < packs_; ++i) {
      const Lanes term = squares_[i] * (end / side_->gaps[i]) * (1.0 + 1.0 / side_->gaps[i]) / 2.0;
      terms += select(squares_[i] > 0.0, term, broadcast(0.0));
    }
    const double limit = total(terms);
    if (limit < value) {
      hard(row, end, value - limit, step);
    } else if (from_zero(end / 2).phi >= value) {
      const double squares = sum_of_squares(), first = value / squares;
      const double x = root([&](double at) { return from_zero(at); }, value, first / 3, end / 2, first);
      step_with(x, step);
      set(row, NearestKind::regular, sign_ * x);
    } else {
      double pole = 0.0;
      for (std::int64_t i = 0; i < size_; ++i)
        if (entry(side_->eigenvalues, i) == lowest) pole += entry(squares_, i);
      double low = __builtin_sqrt(pole * end / (4 * value));  // one term of phi alone reaches the value there
      if (!(low > kSmallest)) low = kSmallest;
      if (low > 0.5) low = 0.5;
      const double t = root([&](double at) { return from_pole(end, at); }, value, low, 0.5, low), x = end * (1 - t);
      for (std::int64_t i = 0; i < size_; ++i)
        step[i] = -x * entry(slopes_, i) / (entry(side_->gaps, i) - t * entry(side_->relative, i));
      set(row, NearestKind::regular, sign_ * x);
    }
  }

  // phi stays below the value up to the pole: a vector of the lowest eigenspace is added.
  void hard(std::int64_t row, double end, double missing, double* step) {
    const bool sphere = missing > job_.touch_tolerance * value_size_;
    for (std::int64_t i = 0; i < size_; ++i) {
      const double slope = entry(slopes_, i);
      step[i] = slope == 0.0 ? 0.0 : -end * slope / entry(side_->gaps, i);
    }
    if (sphere) step[side_->lowest_place] = __builtin_sqrt(missing / __builtin_fabs(side_->lowest));
    set(row, sphere ? NearestKind::sphere : NearestKind::regular, sign_ * end);
  }

  void semidefinite(std::int64_t row, double value, double least, double* step) {
    double kernel = 0.0, squares = 0.0, depth = 0.0, bend = __builtin_inf(), steepest = 0.0;
    for (std::int64_t i = 0; i < packs_; ++i) depths_[i] = broadcast(0.0);
    for (std::int64_t i = 0; i < size_; ++i) {
      const double eigenvalue = entry(side_->eigenvalues, i), square = entry(squares_, i);
      squares += square;
      if (!(eigenvalue > 0.0)) {
        kernel += square;
        continue;
      }
      const double deep = square / (4 * eigenvalue);
      put(depths_, i, deep);
      depth += deep;
      if (deep > 0.0 && eigenvalue < bend) bend = eigenvalue;
      if (eigenvalue > steepest) steepest = eigenvalue;
    }
    const bool flat = kernel == 0.0;
    if (flat && least > 0.0) {
      for (std::int64_t i = 0; i < size_; ++i) step[i] = __builtin_nan("");
      return set(row, NearestKind::empty, sign_ * __builtin_inf());
    }
    // No slope at all: the value is the least one, and rounding gave them two signs.
    if ((flat && least == 0.0) || squares == 0.0) {
      for (std::int64_t i = 0; i < size_; ++i) {
        const double eigenvalue = entry(side_->eigenvalues, i);
        if (eigenvalue > 0.0) step[i] = -entry(slopes_, i) / (2 * eigenvalue);
      }
      return set(row, NearestKind::singular, sign_ * __builtin_inf());
    }
    double x;
    if (flat && value > -least && depth > -2 * least) {
      // Far away the value is a difference of large numbers; the sum of depth / d^2 equals -least there.
      const double ratio = (__builtin_sqrt(depth / -least) - 1) / 2;
      x = root([&](double at) { return from_infinity(at); }, -least, ratio / steepest, ratio / bend, ratio / steepest);
    } else {
      const double low = value / squares;
      // Without kernel slopes -least is at least half the depth here, so that (1 + 2 x eigenvalue)^2 <= 2 for the least one that counts.
      const double high = flat ? 0.25 / bend : value / kernel;
      x = root([&](double at) { return from_zero(at); }, value, low, high > low ? high : low, low);
    }
    step_with(x, step);
    set(row, NearestKind::regular, sign_ * x);
  }
};

}  // namespace PM_ISA
